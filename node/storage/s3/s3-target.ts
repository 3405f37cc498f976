// S3 target of the node: its configured storage as an upload target.
import type { S3Target } from '../../../api/component/s3-target.ts';

type Configured = { [Name in keyof S3Target]-?: undefined extends S3Target[Name] ? string | null : string };

export function s3TargetOf(configured: Configured | null): S3Target | null {
  if (!configured) return null;
  const { bucket, accessKeyId, secretAccessKey, region, endpoint, pathPrefix } = configured;
  return {
    bucket,
    accessKeyId,
    secretAccessKey,
    ...(region !== null && { region }),
    ...(endpoint !== null && { endpoint }),
    ...(pathPrefix !== null && { pathPrefix }),
  };
}
