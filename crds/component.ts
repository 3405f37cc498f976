// A component of a Room: its kind, and the options of each kind.
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
    endpoint: endpointUrl.optional().meta({ description: "URL of S3 where it is not Amazon's." }),
    pathPrefix: objectPrefix.optional().meta({ description: 'Put before the key of every object.' }),
    secretRef: z
      .object({ name: secretName })
      .meta({ description: 'Secret of the same namespace with the keys `accessKeyId` and `secretAccessKey`.' }),
  })
  .meta({ description: 'hls, recording: S3 storage of this component; that of the cluster where left out.' });

const filePath = relativePath(
  limitedText(1024, /^[^/\p{Cc}][^\p{Cc}]*\.(ogg|h264)$/u, "must be the path of an .ogg or .h264 file, not beginning with '/'"),
  "must stay below file_component_sources: no '..' in it",
);

/** Sides of pictures: in H.264 as it is made here, colours are halved. */
const evenInteger = (minimum: number, maximum: number) =>
  withRules(
    integer(minimum, maximum).refine((value) => value % 2 === 0, 'must be even'),
    { rule: 'self % 2 == 0', message: 'must be even' },
  );
/** Frames per second of a composed stream; a file may have more. */
const maxComposedRate = 60;

const options = z
  .object({
    filePath: filePath.optional().meta({ description: 'file: path below `file_component_sources`; .ogg (Opus) or .h264.' }),
    framerate: integer(1, 120)
      .optional()
      .meta({ description: `file (.h264), hls: frames per second; at most ${maxComposedRate} of hls.` }),
    lowLatency: z.boolean().optional().meta({ description: 'hls: low-latency HLS (parts, blocking reload).' }),
    persistent: z.boolean().optional().meta({ description: 'hls: the stream stays as video on demand after it ends.' }),
    targetWindowDuration: integer(1, 86_400)
      .optional()
      .meta({ description: 'hls: seconds of stream kept for viewers; all where left out.' }),
    subscribeMode: z
      .enum(['auto', 'manual'])
      .optional()
      .meta({ description: 'hls, recording: which tracks it takes: auto all, manual those of origins.' }),
    origins: z.array(id).max(1000).optional().meta({
      description:
        'hls, recording, with subscribeMode manual: ids of the peers (and components) that it takes, there already or later. With others the component begins anew.',
      'x-kubernetes-list-type': 'set',
    }),
    layout: z.enum(['grid', 'speaker', 'single']).optional().meta({ description: 'hls: how the picture is composed.' }),
    names: z.boolean().optional().meta({ description: 'hls: the names that peers have in their metadata (`name`) are in the picture.' }),
    width: evenInteger(16, 3840).optional().meta({ description: 'hls: width of the picture in pixels.' }),
    height: evenInteger(16, 2160).optional().meta({ description: 'hls: height of the picture in pixels.' }),
    segmentDuration: integer(1, 30).optional().meta({ description: 'hls: seconds of a segment.' }),
    pathPrefix: objectPrefix.optional().meta({ description: 'recording: put before the keys of its objects; with s3 only.' }),
    s3: s3.optional(),
    registrarAddress: limitedText(
      512,
      /^([sS][iI][pP][sS]?:)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(;transport=([uU][dD][pP]|[tT][cC][pP]|[tT][lL][sS]))?$/,
      'must be the address of a registrar: [sip:|sips:]host[:port][;transport=udp|tcp|tls]',
    )
      .optional()
      .meta({ description: 'sip: address of the registrar, `[sip:|sips:]host[:port][;transport=udp|tcp|tls]`.' }),
    username: limitedText(128, /^[A-Za-z0-9\-_.!~*\x27()&=+$,%]+$/, "must be the name of a user: letters, digits and -_.!~*'()&=+$,%")
      .optional()
      .meta({ description: 'sip: user at the registrar.' }),
    passwordSecretRef: secretKeyRef.optional().meta({ description: 'sip: where the password is kept.' }),
    answerIncoming: z.boolean().optional().meta({ description: 'sip: takes calls in; else they are refused.' }),
    ringTimeout: integer(5, 300).optional().meta({ description: 'sip: seconds that a call rings; 60 where left out.' }),
    caCertificate: limitedText(32_768, /^-----BEGIN CERTIFICATE-----/, 'must be a certificate in PEM')
      .optional()
      .meta({ description: 'sip: certificate of the authority that the registrar is certified by, in PEM.' }),
  })
  .meta({ description: 'Options of the kind, by name. Passwords and keys come from Secrets only.' });

/** Which options a kind of component takes. */
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
    ).meta({ description: 'Name in this Room; the component is told apart by it.' }),
    type: z.enum(componentTypes).meta({ description: 'Kind of the component; the cluster must have it enabled.' }),
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
    message: 'options.framerate of a component of type file is for .h264 files only: audio has none',
  },
  {
    rule: `self.type != 'hls' || !has(self.options) || !has(self.options.framerate) || self.options.framerate <= ${maxComposedRate}`,
    message: `options.framerate of a component of type hls is at most ${maxComposedRate}`,
  },
  {
    rule: "self.type != 'hls' || !has(self.options) || !has(self.options.s3) || (has(self.options.persistent) && self.options.persistent)",
    message: 'options.s3 of a component of type hls needs options.persistent: other streams are not kept',
  },
  {
    rule: "self.type != 'recording' || !has(self.options) || !has(self.options.pathPrefix) || has(self.options.s3)",
    message: 'options.pathPrefix of a component of type recording needs options.s3',
  },
  {
    rule: "!has(self.options) || !has(self.options.origins) || (has(self.options.subscribeMode) && self.options.subscribeMode == 'manual')",
    message: 'options.origins needs options.subscribeMode manual: else all are taken',
  },
  ...optionRules,
).meta({ description: 'A component of the room.' });
export type RoomComponentSpec = z.infer<typeof componentSchema>;
