// Component options: one zod schema per component type. They validate requests and are the source of types, API document and console forms.
import { z } from 'zod';
import { ServiceError } from './errors.ts';
import { externalIdSchema, idSchema } from './id.ts';

export const layouts = ['grid', 'speaker', 'single'] as const;
export type Layout = (typeof layouts)[number];

/** Defaults for options that are omitted or null. Times in seconds. */
export const hlsDefaults = {
  lowLatency: true,
  persistent: false,
  subscribeMode: 'auto',
  width: 1280,
  height: 720,
  framerate: 24,
  segmentDuration: 2,
  layout: 'grid',
  names: false,
} as const;
export const fileDefaults = { framerate: 30 } as const;
export const recordingDefaults = { subscribeMode: 'auto' } as const;
/** Seconds. */
export const sipDefaults = { answerIncoming: false, ringTimeout: 60 } as const;

/** Maximum number of origins of a component in manual mode. */
export const maxOrigins = 1000;

/** Rule for prefixes of object keys. Without it, a tool that treats keys as paths could be led out of its directory. */
export const objectPrefixRule = 'to be a prefix of object keys without .. and a leading /';
export function isObjectPrefix(text: string): boolean {
  return /^[^/\p{Cc}]\P{Cc}{0,511}$/u.test(text) && !text.split('/').includes('..');
}

const text = z.string().min(1).max(1024);
/** An S3 target with credentials. The whole object is a secret. */
export const s3TargetSchema = z
  .strictObject({
    bucket: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/, 'to be the name of a bucket'),
    region: z.string().max(128).optional(),
    endpoint: z
      .url({ protocol: /^https?$/, error: 'to be an http or https URL' })
      .max(2048)
      .refine((url) => URL.parse(url)?.username === '', 'to be a URL without a user')
      .optional()
      .meta({ description: 'URL; default: Amazon S3.' }),
    accessKeyId: text,
    secretAccessKey: text.meta({ format: 'password' }),
    pathPrefix: z
      .string()
      .refine((prefix) => prefix === '' || isObjectPrefix(prefix), objectPrefixRule)
      .optional()
      .meta({ description: 'Prepended to every key verbatim, followed by a slash; no `..`, no leading `/`.' }),
  })
  .meta({ id: 'S3Place', description: 'An S3 target with credentials; allowed only if the node has no S3 target configured.' });
export type S3Target = z.infer<typeof s3TargetSchema>;

/** The public view: without credentials. */
export function shownPlace(place: S3Target) {
  const { bucket, region = null, endpoint = null, pathPrefix = null } = place;
  return { bucket, region, endpoint, pathPrefix };
}

function integer(least: number, most: number) {
  const rule = `to be an integer from ${least} to ${most}`;
  return z.int({ error: rule }).min(least, rule).max(most, rule);
}

const even = (value: number) => value % 2 === 0;
const trueOrFalse = z.boolean({ error: 'to be true or false' }).nullable().optional();
const origins = z
  .array(idSchema, { error: 'to be a list of ids' })
  .max(maxOrigins, `to have at most ${maxOrigins} ids`)
  .nullable()
  .optional()
  .meta({
    description: 'With subscribeMode manual: ids of peers and components to receive from the start; they may join later.',
  });
const subscribeMode = z.enum(['auto', 'manual'], { error: 'to be auto or manual' }).nullable().optional();

export const hlsOptionsSchema = z
  .strictObject({
    lowLatency: trueOrFalse.meta({ description: 'Low-latency HLS: viewers lag about 1.5 s.', default: hlsDefaults.lowLatency }),
    persistent: trueOrFalse.meta({ description: 'Keep the stream as video on demand after it ends.', default: hlsDefaults.persistent }),
    targetWindowDuration: integer(1, 86_400)
      .nullable()
      .optional()
      .meta({ description: 'Seconds that viewers can seek back; default: the whole stream.' }),
    subscribeMode: subscribeMode.meta({
      description: 'auto: the layout contains all peers and components. manual: only origins and later subscriptions.',
      default: hlsDefaults.subscribeMode,
    }),
    origins,
    width: integer(16, 3840)
      .refine(even, 'to be even')
      .nullable()
      .optional()
      .meta({ description: 'Of the composed video, in pixels; even.', default: hlsDefaults.width }),
    height: integer(16, 2160)
      .refine(even, 'to be even')
      .nullable()
      .optional()
      .meta({ description: 'Of the composed video, in pixels; even.', default: hlsDefaults.height }),
    framerate: integer(1, 60).nullable().optional().meta({ description: 'Frames per second.', default: hlsDefaults.framerate }),
    segmentDuration: integer(1, 30).nullable().optional().meta({ description: 'Seconds.', default: hlsDefaults.segmentDuration }),
    layout: z
      .enum(layouts, { error: `to be ${layouts.slice(0, -1).join(', ')} or ${layouts.at(-1)}` })
      .nullable()
      .optional()
      .meta({
        description: 'grid: all participants. speaker: the dominant speaker large. single: the dominant speaker alone.',
        default: hlsDefaults.layout,
      }),
    names: trueOrFalse.meta({ description: 'Show the names of peers below their videos.', default: hlsDefaults.names }),
    s3: s3TargetSchema.nullable().optional(),
  })
  .meta({ id: 'HlsOptions', description: 'One composed stream of the room for any number of viewers.' });

export const recordingOptionsSchema = z
  .strictObject({
    subscribeMode: subscribeMode.meta({
      description: 'auto: every track is recorded. manual: only tracks of origins and of later subscriptions.',
      default: recordingDefaults.subscribeMode,
    }),
    origins,
    pathPrefix: s3TargetSchema.shape.pathPrefix.nullable().meta({ description: 'Prepended to every key in S3; requires credentials.' }),
    credentials: s3TargetSchema.nullable().optional(),
  })
  .meta({ id: 'RecordingOptions', description: 'Records every track unchanged into a separate file.' });

const ringTime = 'to be a whole number of seconds from 5 to 300';
export const sipOptionsSchema = z
  .strictObject({
    registrarCredentials: z.strictObject({
      address: z.string().max(512).meta({ description: 'Address of the registrar: [sip:|sips:]host[:port][;transport=udp|tcp|tls]' }),
      username: z.string().regex(/^[A-Za-z0-9\-_.!~*'()&=+$,%]{1,128}$/, 'to be the name of a user: letters, digits and -_.!~*()&=+$,%'),
      password: z.string().min(1).max(1024).meta({ format: 'password' }),
    }),
    answerIncoming: z
      .boolean({ error: 'to be true or false' })
      .nullable()
      .optional()
      .meta({ description: 'Accept incoming calls; otherwise they are rejected.', default: sipDefaults.answerIncoming }),
    ringTimeout: z
      .int({ error: ringTime })
      .min(5, { error: ringTime })
      .max(300, { error: ringTime })
      .nullable()
      .optional()
      .meta({ description: 'Maximum ringing time in seconds.', default: sipDefaults.ringTimeout }),
    caCertificate: z
      .string()
      .max(32_768)
      .nullable()
      .optional()
      .meta({ description: 'PEM certificate of a private certificate authority, for TLS.', contentMediaType: 'application/x-pem-file' }),
  })
  .meta({ id: 'SipOptions', description: 'A SIP user agent: registers, makes and accepts calls, and connects their audio to the room.' });

const rate = 'to be an integer from 1 to 120';
export const fileOptionsSchema = z
  .strictObject({
    filePath: z.string().max(1024).meta({ description: 'An .ogg (Opus) or .h264 file on the server, below file_component_sources.' }),
    framerate: z
      .int({ error: rate })
      .min(1, rate)
      .max(120, rate)
      .nullable()
      .optional()
      .meta({ description: 'Frames per second; video only.', default: fileDefaults.framerate }),
  })
  .meta({ id: 'FileOptions', description: 'Plays a media file into the room once.' });

/** @throws ServiceError `bad_request` if the component receives all tracks anyway */
export function originsOf({ origins, subscribeMode }: Pick<z.infer<typeof recordingOptionsSchema>, 'origins' | 'subscribeMode'>): string[] {
  if (origins && origins.length > 0 && subscribeMode !== 'manual')
    throw new ServiceError('bad_request', 'Option origins requires subscribeMode manual: otherwise all tracks are received');
  return origins ?? [];
}

/** Documented request body for adding a component. Each component type parses its options itself, so that error messages are specific. */
export const documentedComponentOptions = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('hls'), options: hlsOptionsSchema.optional(), externalId: externalIdSchema.optional() }),
    z.strictObject({ type: z.literal('recording'), options: recordingOptionsSchema.optional(), externalId: externalIdSchema.optional() }),
    z.strictObject({ type: z.literal('sip'), options: sipOptionsSchema, externalId: externalIdSchema.optional() }),
    z.strictObject({ type: z.literal('file'), options: fileOptionsSchema, externalId: externalIdSchema.optional() }),
  ])
  .meta({ id: 'ComponentOptions', description: 'A new component: its type and the options of that type.' });
