// Nodes of a cluster: state, load, effective configuration and the effect of a drain.
import { z } from 'zod';

/** Request header with a token that names the proxying node and the address of its client. */
export const proxiedHeader = 'x-mediarooms-forwarded';

export const nodeStateSchema = z.enum(['accepting', 'draining', 'terminating']).meta({
  id: 'NodeState',
  description: 'accepting: accepts rooms; draining: accepts none, can be cancelled; terminating: got its shutdown signal, is final.',
});
export type NodeState = z.infer<typeof nodeStateSchema>;

export const nodeViewSchema = z
  .object({
    name: z.string(),
    address: z.string().meta({ description: 'SVC_HOST of the node.' }),
    version: z.string(),
    state: nodeStateSchema,
    load: z
      .object({ rooms: z.number(), forwardedTracks: z.number(), cpu: z.number(), accepting: z.boolean() })
      .nullable()
      .meta({ description: 'null if the node did not respond in time.' }),
  })
  .meta({ id: 'Node', description: 'A node of the cluster.' });
export type NodeView = z.infer<typeof nodeViewSchema>;

const count = z.number().int().nonnegative();

/** What a drain waits for, by cause. Operators, the console and the PodDisruptionBudget rely on it. */
export const busySchema = z
  .object({
    rooms: count.meta({ description: 'Rooms with at least one of the following. A drain waits for them; all other rooms end at once.' }),
    peers: count.meta({ description: 'Connected peers.' }),
    calls: count.meta({ description: 'Phone calls of components of type sip.' }),
    streams: count.meta({ description: 'Components of type hls from which a viewer requested a file recently.' }),
    recordings: count.meta({ description: 'Components of type recording that receive at least one track.' }),
    files: count.meta({ description: 'Components of type file that are playing.' }),
  })
  .meta({ id: 'Busy', description: 'What is live in the rooms of a node, by cause.' });
export type BusyView = z.infer<typeof busySchema>;

export const drainOptionsSchema = z
  .strictObject({
    deadline: z
      .number({ error: 'to be a number of seconds' })
      .int('to be a whole number of seconds')
      .min(0, 'to be at least 0')
      .max(31_536_000, 'to be at most 31536000')
      .optional()
      .meta({ description: 'Seconds until rooms that are still busy end; default: SVC_DRAIN_TIMEOUT.' }),
  })
  .meta({ id: 'DrainOptions' });
export type DrainOptions = z.infer<typeof drainOptionsSchema>;

const configSourceSchema = z.enum(['environment', 'file', 'default']);
export type ConfigSource = z.infer<typeof configSourceSchema>;

export const configValueSchema = z
  .object({
    name: z.string().meta({ description: 'The variable, e.g. `SVC_MAX_ROOMS`.' }),
    value: z
      .union([z.string(), z.number(), z.boolean(), z.array(z.string())])
      .nullable()
      .meta({ description: 'In the units of the variable; null if unset; `***` for every secret that is set.' }),
    source: configSourceSchema.meta({ description: 'default: the fixed default, or a value derived from the host and other variables.' }),
    secret: z.boolean(),
    reloadable: z.boolean().meta({ description: 'True if the value can change at runtime, from a file.' }),
    meaning: z.string(),
  })
  .meta({ id: 'ConfigValue', description: 'A variable of the effective configuration.' });
export type ConfigValue = z.infer<typeof configValueSchema>;

export const configFilesSchema = z.object({
  files: z
    .array(z.object({ name: z.string(), sha256: z.string() }))
    .meta({ description: 'Configuration files with the hash of the loaded bytes.' }),
  shadowed: z.array(z.string()).meta({ description: 'Settings of the files that an environment variable overrides.' }),
  error: z.string().nullable().meta({ description: 'Why the current files were rejected; null if they are loaded.' }),
});

export const nodeConfigSchema = z.object({
  node: z.string().meta({ description: 'Name of the node.' }),
  values: z.array(configValueSchema),
  config: configFilesSchema,
  warnings: z.array(z.string()).meta({ description: 'Warnings logged when the node started, one sentence each.' }),
});

/** What a drain would affect now, or what a running drain waits for. */
export const drainViewSchema = z
  .object({
    state: nodeStateSchema,
    deadline: z.iso.datetime().nullable().meta({ description: 'When the remaining rooms end; null while the node accepts rooms.' }),
    defaultDeadline: z
      .number()
      .int()
      .nonnegative()
      .meta({ description: 'Duration of a drain in seconds if the request sets no deadline; 0: rooms end at once.' }),
    rooms: count,
    roomsWithPeers: count.meta({ description: 'Rooms with a connected peer.' }),
    connectedPeers: count.meta({ description: 'Peers that are notified of the deadline.' }),
    busy: busySchema
      .optional()
      .meta({ description: 'What the drain waits for. Nodes older than 0.8 omit it and wait for connected peers only.' }),
  })
  .meta({ id: 'DrainView', description: 'The effect of a drain of the node.' });
export type DrainView = z.infer<typeof drainViewSchema>;
