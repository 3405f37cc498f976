// S3 target of a component: where it uploads to, with credentials. In a Room these are in a Secret.
import { z } from 'zod';
import { type KubeFacts, kube, matches, staysBelow } from '../core/kube.ts';

/** Rule for prefixes of object keys. Without it, a tool that treats keys as paths could be led out of its directory. */
export const objectPrefixRule = 'to be a prefix of object keys without .. and a leading /';
const objectPrefixPattern = /^[^/\p{Cc}]\P{Cc}{0,511}$/u;
export function isObjectPrefix(text: string): boolean {
  return objectPrefixPattern.test(text) && !text.split('/').includes('..');
}

const text = z.string().min(1).max(1024);

const regionPattern = /^[A-Za-z0-9-]+$/;
export const isRegionName = (text: string) => text.length <= s3Facts.region.maxLength && regionPattern.test(text);
export const bucketPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/;

/** The fields for Kubernetes, also those of the S3 settings of a node. */
export const s3Facts = {
  bucket: {
    maxLength: 255,
    rules: [matches(bucketPattern, 'must be a bucket name: letters, digits, dots, hyphens, underscores')],
    doc: 'Bucket.',
  },
  region: {
    maxLength: 64,
    rules: [matches(regionPattern, 'must be a region name: letters, digits and hyphens')],
    doc: 'Its region.',
  },
  endpoint: {
    maxLength: 2048,
    rules: [matches(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/, 'must be an http or https URL without a user, a query and a fragment')],
    doc: 'S3 endpoint URL, for storage other than Amazon S3.',
  },
  pathPrefix: {
    maxLength: 512,
    rules: [
      matches(objectPrefixPattern, "must be a prefix of object keys: not empty, without control characters, not beginning with '/'"),
      staysBelow("must not contain '..'"),
    ],
  },
} satisfies Record<string, KubeFacts>;

/** The whole object is a secret. */
export const s3TargetSchema = z
  .strictObject({
    bucket: z.string().regex(bucketPattern, 'to be the name of a bucket').register(kube, s3Facts.bucket),
    region: z.string().max(128).register(kube, s3Facts.region).optional(),
    endpoint: z
      .url({ protocol: /^https?$/, error: 'to be an http or https URL' })
      .max(2048)
      .refine((url) => URL.parse(url)?.username === '', 'to be a URL without a user')
      .register(kube, s3Facts.endpoint)
      .optional()
      .meta({ description: 'URL; default: Amazon S3.' }),
    accessKeyId: text,
    secretAccessKey: text.meta({ format: 'password' }),
    pathPrefix: z
      .string()
      .refine((prefix) => prefix === '' || isObjectPrefix(prefix), objectPrefixRule)
      .register(kube, s3Facts.pathPrefix)
      .optional()
      .meta({ description: 'Prepended to every key verbatim, followed by a slash; no `..`, no leading `/`.' }),
  })
  .meta({ id: 'S3Place', description: 'An S3 target with credentials; allowed only if the node has no S3 target configured.' });
export type S3Target = z.infer<typeof s3TargetSchema>;

/** What an option with an S3 target is in a Room. */
export const s3InRoom = {
  as: 's3',
  keys: ['accessKeyId', 'secretAccessKey'],
  doc: 'S3 storage of this component; the storage of the cluster if omitted.',
};

/** The public view: without credentials. */
export function shownPlace(place: S3Target) {
  const { bucket, region = null, endpoint = null, pathPrefix = null } = place;
  return { bucket, region, endpoint, pathPrefix };
}
