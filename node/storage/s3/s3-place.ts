// The node's own S3 storage as its configuration says it, as a place to upload to.
import type { S3Place } from '../../rooms/component-options.ts';

type Configured = { [Name in keyof S3Place]-?: undefined extends S3Place[Name] ? string | null : string };

export function s3PlaceOf(configured: Configured | null): S3Place | null {
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
