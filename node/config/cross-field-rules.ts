// Rules across reloadable settings, checked for all layers together.
import type { ReloadableValues } from '../../api/settings/reloadable.ts';

/** An error of all layers together, at a name or all names below it. */
export type CrossFieldError = { path: string; message: string };

export function crossFieldErrors({ apiTokens, apiReadTokens = [], s3 }: ReloadableValues): CrossFieldError[] {
  const { bucket, accessKeyId, secretAccessKey } = s3;
  const errors: CrossFieldError[] = [];
  if (!apiTokens) {
    const message =
      'Expected SVC_SERVER_API_TOKEN (or apiTokens in a file of SVC_CONFIG_FILES) to be set if SVC_IP or SVC_HOST is not loopback, got: nothing';
    errors.push({ path: 'apiTokens', message });
  }
  if (apiReadTokens.some(({ token }) => apiTokens?.some((other) => other.token === token && other.scope === 'admin'))) {
    const message =
      'Expected SVC_SERVER_API_READ_TOKEN (apiReadTokens in files) to have no admin token, got: one of SVC_SERVER_API_TOKEN (apiTokens)';
    errors.push({ path: 'apiReadTokens', message });
  }
  const given = Object.entries({ bucket, accessKeyId, secretAccessKey }).flatMap(([name, value]) =>
    value === undefined ? [] : [`s3.${name}`],
  );
  if (given.length === 1 || given.length === 2) {
    const variables = 'SVC_S3_BUCKET, SVC_S3_ACCESS_KEY_ID and SVC_S3_SECRET_ACCESS_KEY';
    errors.push({ path: 's3', message: `Expected ${variables} (s3.* in files) to be set all or none, got only: ${given.join(', ')}` });
  }
  return errors;
}
