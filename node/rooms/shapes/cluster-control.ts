// The nodes of a cluster as REST shows them, and what can be asked of one.
import { z } from 'zod';

export const nodeStateSchema = z.enum(['accepting', 'draining', 'terminating']).meta({
  id: 'NodeState',
  description: 'accepting: takes rooms; draining: takes none, can be called back; terminating: got its signal, is final.',
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
      .meta({ description: 'null where the node did not answer in time.' }),
  })
  .meta({ id: 'Node', description: 'A node of the cluster.' });
export type NodeView = z.infer<typeof nodeViewSchema>;

export const drainOptionsSchema = z
  .strictObject({
    deadline: z
      .number({ error: 'to be a number of seconds' })
      .int('to be a whole number of seconds')
      .min(0, 'to be at least 0')
      .max(31_536_000, 'to be at most 31536000')
      .optional()
      .meta({ description: 'Seconds after which rooms end that still have peers; SVC_DRAIN_TIMEOUT where left out.' }),
  })
  .meta({ id: 'DrainOptions' });
export type DrainOptions = z.infer<typeof drainOptionsSchema>;

export const configSourceSchema = z.enum(['environment', 'file', 'default']);
export type ConfigSource = z.infer<typeof configSourceSchema>;

export const configValueSchema = z
  .object({
    name: z.string().meta({ description: 'The variable, e.g. `SVC_MAX_ROOMS`.' }),
    value: z
      .union([z.string(), z.number(), z.boolean(), z.array(z.string())])
      .nullable()
      .meta({ description: 'In the units of the variable; null where unset; `***` for every secret that is set.' }),
    source: configSourceSchema.meta({ description: 'default: the fixed default, or what was taken from the machine and other variables.' }),
    secret: z.boolean(),
    reloadable: z.boolean().meta({ description: 'Whether it may change while the node runs, from a file.' }),
    meaning: z.string(),
  })
  .meta({ id: 'ConfigValue', description: 'A variable of the configuration in force.' });
export type ConfigValue = z.infer<typeof configValueSchema>;

export const configFilesSchema = z.object({
  files: z
    .array(z.object({ name: z.string(), sha256: z.string() }))
    .meta({ description: 'Configuration files with the hash of the bytes in force.' }),
  shadowed: z.array(z.string()).meta({ description: 'Settings of the files that a variable of the environment wins over.' }),
  error: z.string().nullable().meta({ description: 'Why the files as they are now were refused; null while they are in force.' }),
});

export const nodeConfigSchema = z.object({
  node: z.string().meta({ description: 'Name of the node.' }),
  values: z.array(configValueSchema),
  config: configFilesSchema,
  warnings: z.array(z.string()).meta({ description: 'What the node warned of when it started, one sentence each.' }),
});
export type NodeConfig = z.infer<typeof nodeConfigSchema>;

/** What a drain would meet now, and what one that runs waits for. */
export const drainViewSchema = z
  .object({
    state: nodeStateSchema,
    deadline: z.iso.datetime().nullable().meta({ description: 'When the rooms end that are left; null while the node accepts rooms.' }),
    defaultDeadline: z
      .number()
      .int()
      .nonnegative()
      .meta({ description: 'Seconds that a drain takes at most where nobody says otherwise; 0: rooms end at once.' }),
    rooms: z.number().int().nonnegative(),
    roomsWithPeers: z
      .number()
      .int()
      .nonnegative()
      .meta({ description: 'Rooms that go on until their end or the deadline; the others end at once.' }),
    connectedPeers: z.number().int().nonnegative().meta({ description: 'Peers who are told the deadline.' }),
  })
  .meta({ id: 'DrainView', description: 'What a drain of the node means.' });
export type DrainView = z.infer<typeof drainViewSchema>;

export interface ClusterControl {
  /** All connected nodes and this one, by name. */
  nodes(): Promise<NodeView[]>;
  /** @throws ServiceError `not_found`, `terminating`, `node_unreachable` */
  drain(node: string, options: DrainOptions): Promise<void>;
  cancelDrain(node: string): Promise<void>;
  /** What a drain means, or what one that runs waits for. @throws ServiceError `not_found`, `node_unreachable` */
  drainView(node: string): Promise<DrainView>;
  /** Of this node where none is named. @throws ServiceError `not_found`, `node_unreachable` */
  config(node?: string): Promise<NodeConfig>;
}
