// RPCs about agents of LiveKit, which only nodes request from each other: workers connect to any node, and the owning node of a room assigns
// its jobs.
import { z } from 'zod';
import { named, rpc } from '../core/operation.ts';
import { idSchema } from '../id.ts';
import { attributesSchema } from '../peer.ts';

/** Limits of what nodes exchange; a worker and a dispatch are validated with the same. */
export const maxAgentWorkers = 1_000;
export const maxAgentDispatches = 16;
/** Milliseconds in which a worker responds to an offered job. */
export const availabilityTimeoutMs = 10_000;
const workerRpcTimeoutMs = 2_000;

const id = z.string().max(64);
export const agentNameSchema = z.string().max(128);
const text = z.string().max(64 * 1024);
const time = z.number().min(0);

/** What a backend, or an access token, requests of the agents of a room. */
export const agentRequestSchema = z.object({
  agentName: agentNameSchema,
  metadata: text.default(''),
  attributes: attributesSchema.default({}),
  /** True: a failed job is assigned again. */
  restart: z.boolean().default(true),
});
export type AgentRequest = z.infer<typeof agentRequestSchema>;

/** What a job is for: a room, one of its peers, or one that publishes tracks. */
export const agentJobTypeSchema = z.enum(['room', 'participant', 'publisher']);
export type AgentJobType = z.infer<typeof agentJobTypeSchema>;

const agentParticipantSchema = z.object({
  peerId: idSchema,
  identity: z.string().max(256),
  name: text,
  metadata: text,
  attributes: attributesSchema,
});
export type AgentParticipant = z.infer<typeof agentParticipantSchema>;

export const agentJobSchema = agentRequestSchema.omit({ restart: true }).extend({
  id,
  dispatchId: id,
  roomId: idSchema,
  incarnation: id,
  roomMetadata: text,
  type: agentJobTypeSchema,
  /** Of a job for one peer. */
  participant: agentParticipantSchema.optional(),
  /** True if an earlier job of the dispatch ended, so that tokens of its participant may be revoked. */
  again: z.boolean(),
});
export type AgentJob = z.infer<typeof agentJobSchema>;

export const agentJobStatusSchema = z.enum(['pending', 'running', 'succeeded', 'failed']);
export type AgentJobStatus = z.infer<typeof agentJobStatusSchema>;

/** Times in milliseconds since 1970, 0 if it has not happened. */
const jobViewSchema = z.object({
  id,
  type: agentJobTypeSchema,
  status: agentJobStatusSchema,
  error: z.string().max(1024),
  startedAt: time,
  endedAt: time,
  identity: z.string().max(256),
  workerId: id,
});
export type AgentJobView = z.infer<typeof jobViewSchema>;
/** Of a dispatch: the newest ones. */
export const maxAgentJobViews = 64;
const dispatchViewSchema = agentRequestSchema.extend({
  id,
  roomId: idSchema,
  createdAt: time,
  jobs: z.array(jobViewSchema).max(maxAgentJobViews),
});
export type AgentDispatchView = z.infer<typeof dispatchViewSchema>;

const offeredWorkerSchema = z.object({ workerId: id, load: z.number().min(0) });
export type OfferedWorker = z.infer<typeof offeredWorkerSchema>;
const availabilitySchema = z.union([
  /** `terminate`: no other worker is asked. */
  z.object({ available: z.literal(false), terminate: z.boolean().optional() }),
  z.object({ available: z.literal(true), identity: z.string().max(256) }),
]);
export type AgentAvailability = z.infer<typeof availabilitySchema>;

export const agentRpcs = named({
  /** At every node: its workers that accept jobs of an agent in a room. */
  agentWorkers: rpc(
    z.object({ agentName: agentNameSchema, roomId: idSchema, type: agentJobTypeSchema }),
    z.array(offeredWorkerSchema).max(maxAgentWorkers),
    workerRpcTimeoutMs / 2,
  ),
  /** At the node of the worker. An available worker is not charged with the job before it is assigned. */
  offerAgentJob: rpc(z.object({ workerId: id, job: agentJobSchema }), availabilitySchema, availabilityTimeoutMs + workerRpcTimeoutMs),
  assignAgentJob: rpc(z.object({ workerId: id, jobId: id }), z.boolean(), workerRpcTimeoutMs),
  /** At every node: a worker that connected again continues these jobs. The result: those that the node lets it continue. */
  adoptAgentJobs: rpc(z.object({ workerId: id, jobIds: z.array(id).max(1_000) }), z.array(agentJobSchema).max(1_000), workerRpcTimeoutMs),
  /** At the owning node of the room. */
  dispatchAgent: rpc(agentRequestSchema.extend({ roomId: idSchema }), dispatchViewSchema),
  deleteAgentDispatch: rpc(z.object({ roomId: idSchema, dispatchId: id }), dispatchViewSchema),
  listAgentDispatches: rpc(z.object({ roomId: idSchema }), z.array(dispatchViewSchema).max(maxAgentDispatches)),
});

/** One-way messages between nodes, by name. */
export const agentMessages = {
  /** To all nodes: a worker of this agent accepts jobs. */
  agentWorkerFree: z.object({ agentName: agentNameSchema, type: agentJobTypeSchema }),
  /** To the node of the worker. */
  endAgentJob: z.object({ jobId: id }),
  /** To the owning node of the room. `lost`: the worker disconnected. */
  agentJobUpdated: z.object({
    roomId: idSchema,
    jobId: id,
    workerId: id,
    status: z.enum(['running', 'succeeded', 'failed', 'lost']),
    error: z.string().max(1024),
  }),
};
export type AgentJobUpdate = z.infer<typeof agentMessages.agentJobUpdated>;
