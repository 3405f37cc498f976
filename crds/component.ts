// Component of a Room: its type, and the options of each type.
import { z } from 'zod';
import {
  bucket,
  endpointUrl,
  id,
  integer,
  limitedText,
  objectPrefix,
  region,
  relativePath,
  secretKeyRef,
  secretName,
  withRules,
} from './schema.ts';

export const componentTypes = ['hls', 'recording', 'sip', 'file'] as const;

const s3 = z
  .object({
    bucket: bucket.meta({ description: 'Bucket.' }),
    region: region.optional().meta({ description: 'Its region.' }),
    endpoint: endpointUrl.optional().meta({ description: 'S3 endpoint URL, for storage other than Amazon S3.' }),
    pathPrefix: objectPrefix.optional().meta({ description: 'Prefix of every object key.' }),
    secretRef: z
      .object({ name: secretName })
      .meta({ description: 'Secret of the same namespace with the keys `accessKeyId` and `secretAccessKey`.' }),
  })
  .meta({ description: 'hls, recording: S3 storage of this component; the storage of the cluster if omitted.' });

const filePath = relativePath(
  limitedText(1024, /^[^/\p{Cc}][^\p{Cc}]*\.(ogg|h264)$/u, "must be the path of an .ogg or .h264 file, not beginning with '/'"),
  "must stay below file_component_sources and must not contain '..'",
);

/** Sides of video frames are even, because H.264 here uses 4:2:0 chroma subsampling. */
const evenInteger = (minimum: number, maximum: number) =>
  withRules(
    integer(minimum, maximum).refine((value) => value % 2 === 0, 'must be even'),
    { rule: 'self % 2 == 0', message: 'must be even' },
  );
/** Maximum frame rate of a composed stream; a file may have more. */
const maxComposedRate = 60;

const options = z
  .object({
    filePath: filePath.optional().meta({ description: 'file: path below `file_component_sources`; .ogg (Opus) or .h264.' }),
    framerate: integer(1, 120)
      .optional()
      .meta({ description: `file (.h264), hls: frames per second; at most ${maxComposedRate} for hls.` }),
    lowLatency: z.boolean().optional().meta({ description: 'hls: low-latency HLS (parts, blocking reload).' }),
    persistent: z.boolean().optional().meta({ description: 'hls: the stream is kept as video on demand after it ends.' }),
    targetWindowDuration: integer(1, 86_400)
      .optional()
      .meta({ description: 'hls: seconds of the stream that viewers can seek back; the whole stream if omitted.' }),
    subscribeMode: z
      .enum(['auto', 'manual'])
      .optional()
      .meta({ description: 'hls, recording: subscribed tracks: auto all, manual only those of origins.' }),
    origins: z.array(id).max(1000).optional().meta({
      description:
        'hls, recording, with subscribeMode manual: ids of the peers and components whose tracks are subscribed, now or when they join. A change recreates the component.',
      'x-kubernetes-list-type': 'set',
    }),
    layout: z.enum(['grid', 'speaker', 'single']).optional().meta({ description: 'hls: layout of the composed video.' }),
    names: z.boolean().optional().meta({ description: 'hls: shows the names of peers (`name` of their metadata) in the video.' }),
    width: evenInteger(16, 3840).optional().meta({ description: 'hls: width of the video in pixels.' }),
    height: evenInteger(16, 2160).optional().meta({ description: 'hls: height of the video in pixels.' }),
    segmentDuration: integer(1, 30).optional().meta({ description: 'hls: duration of a segment in seconds.' }),
    pathPrefix: objectPrefix.optional().meta({ description: 'recording: prefix of its object keys; requires s3.' }),
    s3: s3.optional(),
    registrarAddress: limitedText(
      512,
      /^([sS][iI][pP][sS]?:)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(;transport=([uU][dD][pP]|[tT][cC][pP]|[tT][lL][sS]))?$/,
      'must be the address of a registrar: [sip:|sips:]host[:port][;transport=udp|tcp|tls]',
    )
      .optional()
      .meta({ description: 'sip: address of the registrar, `[sip:|sips:]host[:port][;transport=udp|tcp|tls]`.' }),
    username: limitedText(128, /^[A-Za-z0-9\-_.!~*\x27()&=+$,%]+$/, "must be a user name: letters, digits and -_.!~*'()&=+$,%")
      .optional()
      .meta({ description: 'sip: user at the registrar.' }),
    passwordSecretRef: secretKeyRef.optional().meta({ description: 'sip: Secret and key of the password.' }),
    answerIncoming: z.boolean().optional().meta({ description: 'sip: accepts incoming calls; if false, they are rejected.' }),
    ringTimeout: integer(5, 300).optional().meta({ description: 'sip: seconds that a call rings; 60 if omitted.' }),
    caCertificate: limitedText(32_768, /^-----BEGIN CERTIFICATE-----/, 'must be a certificate in PEM')
      .optional()
      .meta({ description: 'sip: CA certificate that signed the certificate of the registrar, in PEM.' }),
  })
  .meta({ description: 'Options of the component type. Passwords and keys are read from Secrets only.' });

/** Options of each component type. */
export const optionsByType = {
  file: ['filePath', 'framerate'],
  hls: [
    ...['lowLatency', 'persistent', 'targetWindowDuration', 'subscribeMode', 'origins', 'layout', 'names', 'width', 'height', 'framerate'],
    ...['segmentDuration', 's3'],
  ],
  recording: ['subscribeMode', 'origins', 'pathPrefix', 's3'],
  sip: ['registrarAddress', 'username', 'passwordSecretRef', 'answerIncoming', 'ringTimeout', 'caCertificate'],
} as const;

const optionRules = Object.keys(options.shape).map((option) => {
  const kinds = Object.entries(optionsByType).flatMap(([kind, taken]) => ((taken as readonly string[]).includes(option) ? [kind] : []));
  return {
    rule: `!has(self.options) || !has(self.options.${option}) || self.type in [${kinds.map((kind) => `'${kind}'`).join(', ')}]`,
    message: `options.${option} is for components of type ${kinds.join(' or ')} only`,
  };
});

export const componentSchema = withRules(
  z.object({
    name: limitedText(
      63,
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
      "must be lower case letters, digits and '-', with a letter or digit at both ends",
    ).meta({ description: 'Name, unique in this Room; it identifies the component.' }),
    type: z.enum(componentTypes).meta({ description: 'Component type; the cluster must have it enabled.' }),
    options: options.optional(),
  }),
  {
    rule: "self.type != 'file' || (has(self.options) && has(self.options.filePath))",
    message: 'a component of type file needs options.filePath',
  },
  {
    rule: "self.type != 'sip' || (has(self.options) && has(self.options.registrarAddress) && has(self.options.username) && has(self.options.passwordSecretRef))",
    message: 'a component of type sip needs options.registrarAddress, options.username and options.passwordSecretRef',
  },
  {
    rule: "self.type != 'file' || !has(self.options) || !has(self.options.framerate) || !has(self.options.filePath) || self.options.filePath.endsWith('.h264')",
    message: 'options.framerate of a component of type file is valid for .h264 files only',
  },
  {
    rule: `self.type != 'hls' || !has(self.options) || !has(self.options.framerate) || self.options.framerate <= ${maxComposedRate}`,
    message: `options.framerate of a component of type hls is at most ${maxComposedRate}`,
  },
  {
    rule: "self.type != 'hls' || !has(self.options) || !has(self.options.s3) || (has(self.options.persistent) && self.options.persistent)",
    message: 'options.s3 of a component of type hls needs options.persistent, because other streams are not kept',
  },
  {
    rule: "self.type != 'recording' || !has(self.options) || !has(self.options.pathPrefix) || has(self.options.s3)",
    message: 'options.pathPrefix of a component of type recording needs options.s3',
  },
  {
    rule: "!has(self.options) || !has(self.options.origins) || (has(self.options.subscribeMode) && self.options.subscribeMode == 'manual')",
    message: 'options.origins needs options.subscribeMode manual',
  },
  ...optionRules,
).meta({ description: 'A component of the room.' });
export type RoomComponentSpec = z.infer<typeof componentSchema>;
