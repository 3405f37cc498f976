// The Room resource: a media room that is to exist on some node of a MediaCluster.
import { z } from 'zod';
import { anyJson, conditions, id, integer, listBy, name, secondsOrNever, secretKeyRef, withRules } from './schema.ts';

const secretRef = z
  .object({ name: name.meta({ description: 'Name of a Secret of the same namespace.' }) })
  .meta({ description: 'A Secret of the same namespace.' });

const s3 = z
  .object({
    bucket: z.string().min(3).max(63).meta({ description: 'Bucket.' }),
    region: z.string().max(64).optional().meta({ description: 'Its region.' }),
    endpoint: z.string().max(2048).optional().meta({ description: 'URL of S3 where it is not Amazon.' }),
    pathPrefix: z.string().max(1024).optional().meta({ description: 'Put before the key of every object.' }),
    secretRef: secretRef.meta({ description: 'Secret with the keys `accessKeyId` and `secretAccessKey`.' }),
  })
  .meta({ description: 'S3 storage of this component; without it that of the cluster.' });

const componentOptions = z
  .object({
    filePath: z.string().min(1).max(1024).optional().meta({ description: 'file: path below `file_component_sources`.' }),
    framerate: integer(1, 120).optional().meta({ description: 'file, hls: frames per second.' }),
    lowLatency: z.boolean().optional().meta({ description: 'hls: low-latency HLS (parts, blocking reload).' }),
    persistent: z.boolean().optional().meta({ description: 'hls: the stream stays as video on demand after it ends.' }),
    targetWindowDuration: integer(1, 86_400)
      .optional()
      .meta({ description: 'hls: seconds of stream kept for viewers; all where left out.' }),
    subscribeMode: z.enum(['auto', 'manual']).optional().meta({ description: 'hls, recording: which tracks it takes.' }),
    layout: z.enum(['grid', 'speaker', 'single']).optional().meta({ description: 'hls: how the picture is composed.' }),
    width: integer(16, 3840).optional().meta({ description: 'hls: width of the picture in pixels.' }),
    height: integer(16, 2160).optional().meta({ description: 'hls: height of the picture in pixels.' }),
    segmentDuration: integer(1, 30).optional().meta({ description: 'hls: seconds of a segment.' }),
    pathPrefix: z.string().max(1024).optional().meta({ description: 'recording: put before the names of its files.' }),
    s3: s3.optional(),
    registrarAddress: z.string().min(1).max(512).optional().meta({ description: 'sip: address of the registrar, `sip:host[:port]`.' }),
    username: z.string().min(1).max(256).optional().meta({ description: 'sip: user at the registrar.' }),
    passwordSecretRef: secretKeyRef.optional().meta({ description: 'sip: where the password is kept.' }),
  })
  .meta({ description: 'Options of the kind, by name. Passwords and keys come from Secrets only.' });

/** Which options a kind of component takes. */
export const optionsOfKinds = {
  file: ['filePath', 'framerate'],
  hls: [
    ...['lowLatency', 'persistent', 'targetWindowDuration', 'subscribeMode', 'layout', 'width', 'height', 'framerate', 'segmentDuration'],
    's3',
  ],
  recording: ['subscribeMode', 'pathPrefix', 's3'],
  sip: ['registrarAddress', 'username', 'passwordSecretRef'],
} as const;

const optionRules = Object.keys(componentOptions.shape).map((option) => {
  const kinds = Object.entries(optionsOfKinds).flatMap(([kind, options]) =>
    (options as readonly string[]).includes(option) ? [kind] : [],
  );
  return {
    rule: `!has(self.options) || !has(self.options.${option}) || self.type in [${kinds.map((kind) => `'${kind}'`).join(', ')}]`,
    message: `options.${option} is for components of type ${kinds.join(' or ')} only`,
  };
});

const component = withRules(
  z.object({
    name: z
      .string()
      .min(1)
      .max(63)
      .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
      .meta({ description: 'Name in this Room; the component is told apart by it.' }),
    type: z.enum(['hls', 'recording', 'sip', 'file']).meta({ description: 'Kind of the component; the cluster must have it enabled.' }),
    options: componentOptions.optional(),
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
    rule: "!has(self.options) || !has(self.options.filePath) || (!self.options.filePath.startsWith('/') && !self.options.filePath.contains('..'))",
    message: 'options.filePath must be a path below file_component_sources, without ".."',
  },
  ...optionRules,
);

const peer = z.object({
  name: id.meta({ description: 'Id of the peer. It stays the same when the room is made again, so tokens stay good.' }),
  metadata: anyJson('Any JSON value of the application, at most 16 KiB.').optional(),
  permissions: z
    .object({
      publish: z
        .array(z.enum(['audio', 'video']))
        .max(2)
        .optional()
        .meta({ description: 'Kinds of tracks that the peer may publish; both where left out.', 'x-kubernetes-list-type': 'set' }),
      subscribe: z.boolean().optional().meta({ description: 'Whether the peer may receive tracks; it may where left out.' }),
      data: z.boolean().optional().meta({ description: 'Whether the peer may send and publish data; it may where left out.' }),
    })
    .optional()
    .meta({ description: 'What the peer may do.' }),
});

function immutable(field: string) {
  return {
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message: `${field} is immutable`,
    fieldPath: `.${field}`,
  };
}

export const roomSpecSchema = withRules(
  z
    .object({
      clusterRef: z
        .object({ name: name.max(40).meta({ description: 'Name of the MediaCluster.' }) })
        .optional()
        .meta({ description: 'The MediaCluster of the same namespace; may be left out where there is exactly one. Immutable.' }),
      roomId: id.optional().meta({ description: 'Id of the room on the nodes; metadata.name where left out. Immutable.' }),
      videoCodec: z
        .enum(['h264', 'vp8'])
        .optional()
        .meta({ description: 'The one video codec of the room; any where left out. Immutable.' }),
      maxPeers: integer(1, 1_000_000).optional().meta({ description: 'Most peers in the room; the limit of the cluster where left out.' }),
      peerlessPurgeTimeout: secondsOrNever.optional().meta({
        description: 'Seconds without a connected peer after which the room ends; 0 = never; the default of the cluster where left out.',
      }),
      peerDisconnectedTimeout: secondsOrNever.optional().meta({
        description: 'Seconds after which a disconnected peer is removed; 0 = never; the default of the cluster where left out.',
      }),
      webhookUrl: z
        .string()
        .max(2048)
        .regex(/^https?:\/\/[^/\s#]+[^\s#]*$/)
        .optional()
        .meta({ description: 'Receiver of the events of this room, http or https.' }),
      recreate: z
        .enum(['Always', 'Never'])
        .default('Always')
        .meta({ description: 'What happens when the room is lost with its node: Always makes it again, Never leaves it Failed.' }),
      components: listBy('name', z.array(component).max(16)).optional().meta({
        description: 'Components that the room is to have.',
      }),
      peers: listBy('name', z.array(peer).max(500)).optional().meta({
        description: 'Peers that the room is to have; their tokens and URLs are written into the Secret that the status names.',
      }),
    })
    .meta({ description: 'The room that is to exist.' }),
  ...['clusterRef', 'roomId', 'videoCodec'].map(immutable),
);
export type RoomSpec = z.infer<typeof roomSpecSchema>;
export type RoomComponentSpec = z.infer<typeof component>;
export type RoomPeerSpec = z.infer<typeof peer>;

export const roomStatusSchema = z
  .object({
    observedGeneration: integer(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: 'The generation that this status is of.' }),
    phase: z.enum(['Pending', 'Ready', 'Recovering', 'Finished', 'Failed']).optional().meta({ description: 'The conditions in one word.' }),
    conditions: conditions.optional(),
    roomId: z.string().optional().meta({ description: 'Id of the room on the nodes.' }),
    incarnation: z.string().optional().meta({ description: 'The very room: another one of the same id has another.' }),
    node: z.string().optional().meta({ description: 'Name of the node that has the room.' }),
    address: z.string().optional().meta({ description: 'Address of the room for clients: host[:port][/path].' }),
    peersSecretName: z.string().optional().meta({ description: 'Secret with `<peer>.token` and `<peer>.url` of each declared peer.' }),
    peers: z
      .object({ total: integer(0, 1_000_000), connected: integer(0, 1_000_000) })
      .optional()
      .meta({ description: 'Peers in the room; written every 10 seconds at most.' }),
    components: listBy(
      'name',
      z.array(
        z.object({
          name: z.string(),
          id: z.string().optional().meta({ description: 'Id on the node.' }),
          type: z.string(),
          ready: z.boolean(),
          message: z.string().optional().meta({ description: 'Why it is not ready.' }),
        }),
      ),
    )
      .optional()
      .meta({ description: 'The declared components.' }),
    createdAt: z.string().optional().meta({ description: 'When this incarnation was made.', format: 'date-time' }),
    crashes: z
      .array(z.string().meta({ format: 'date-time' }))
      .max(3)
      .optional()
      .meta({
        description: 'When the room crashed of itself last; the third within ten minutes ends it.',
        'x-kubernetes-list-type': 'atomic',
      }),
  })
  .meta({ description: 'The room as its node tells it.' });
export type RoomStatus = z.infer<typeof roomStatusSchema>;
