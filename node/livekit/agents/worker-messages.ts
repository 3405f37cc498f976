// Messages of workers of agents, in LiveKit's protocol: reads and validates theirs, and encodes those of the server.
import {
  Job,
  JobState,
  JobStatus,
  JobType,
  ParticipantInfo,
  ParticipantInfo_State,
  Room,
  ServerMessage,
  WorkerMessage,
  WorkerStatus,
} from '@livekit/protocol';
import { z } from 'zod';
import { validationMessage } from '../../../api/derive/validation-messages.ts';
import { ServiceError } from '../../../api/errors.ts';
import { externalIdSchema, idSchema } from '../../../api/id.ts';
import {
  type AgentJob,
  type AgentJobType,
  type AgentParticipant,
  agentJobTypeSchema,
  agentNameSchema,
} from '../../../api/operations/agent-rpcs.ts';
import { attributesSchema } from '../../../api/peer.ts';
import { participantSid, roomSid } from '../ids.ts';

/** Types of jobs in the protocol. */
export const jobTypes: Readonly<Record<AgentJobType, JobType>> = {
  room: JobType.JT_ROOM,
  participant: JobType.JT_PARTICIPANT,
  publisher: JobType.JT_PUBLISHER,
};

const id = z.string().max(64);
const text = z.string().max(1024);
/** Values of a protobuf enum. */
const choice = (values: object) => z.int().refine((value) => values[value as never] !== undefined, 'is unknown');

const permissionSchema = z.object({
  canPublish: z.boolean(),
  canSubscribe: z.boolean(),
  canPublishData: z.boolean(),
  hidden: z.boolean(),
  canPublishSources: z.array(z.int()).max(16),
});
export type AgentPermissions = z.infer<typeof permissionSchema>;

const schemas = {
  register: z.object({ type: choice(JobType), agentName: agentNameSchema, version: text, allowedPermissions: permissionSchema.optional() }),
  availability: z.object({
    jobId: id,
    available: z.boolean(),
    terminate: z.boolean(),
    participantName: z.string().max(256),
    participantIdentity: z.union([z.literal(''), externalIdSchema]),
    participantMetadata: z.string().max(16 * 1024),
    participantAttributes: attributesSchema,
  }),
  updateWorker: z.object({ status: choice(WorkerStatus).optional(), load: z.number().min(0).max(1_000).catch(0) }),
  updateJob: z.object({ jobId: id, status: choice(JobStatus), error: z.string().transform((error) => error.slice(0, 1024)) }),
  ping: z.object({ timestamp: z.bigint() }),
  simulateJob: z.object({ type: choice(JobType), room: z.object({ name: idSchema }) }),
  migrateJob: z.object({ jobIds: z.array(id).max(1_000) }),
};
type Name = keyof typeof schemas;
export type WorkerRequest = { [Each in Name]: { name: Each; data: z.infer<(typeof schemas)[Each]> } }[Name];
export type Registration = z.infer<typeof schemas.register>;
export type Availability = z.infer<typeof schemas.availability>;

/** @returns undefined for messages of a newer protocol. @throws ServiceError `bad_request`, `invalid_field` */
export function readWorkerMessage(frame: Buffer): WorkerRequest | undefined {
  const { case: name, value } = decode(frame);
  if (name === undefined) return undefined;
  const result = schemas[name].safeParse(value);
  if (!result.success) throw new ServiceError('invalid_field', validationMessage(result.error, value, name));
  // The schema of a name returns its data; TypeScript loses that through the index.
  return { name, data: result.data } as WorkerRequest;
}

function decode(frame: Buffer): WorkerMessage['message'] {
  try {
    return WorkerMessage.fromBinary(new Uint8Array(frame)).message;
  } catch {
    throw new ServiceError('bad_request', 'The message of the worker is not protobuf');
  }
}

type Message = NonNullable<ConstructorParameters<typeof ServerMessage>[0]>['message'];

export function encodeServerMessage(message: Message): Buffer {
  return Buffer.from(new ServerMessage({ message }).toBinary());
}

/** The opposite of `jobTypes`. */
export function jobTypeOf(type: JobType): AgentJobType | undefined {
  return agentJobTypeSchema.options.find((each) => jobTypes[each] === type);
}

export function jobMessage(job: AgentJob): Job {
  const { id: jobId, dispatchId, roomId, incarnation, roomMetadata, agentName, metadata, attributes, type, participant } = job;
  return new Job({
    ...{ id: jobId, dispatchId, agentName, metadata, attributes },
    type: jobTypes[type],
    ...(participant && { participant: infoOf(participant, type === 'publisher') }),
    room: new Room({ sid: roomSid(incarnation), name: roomId, metadata: roomMetadata }),
    state: new JobState({ status: JobStatus.JS_PENDING }),
  });
}

function infoOf({ peerId, identity, name, metadata, attributes }: AgentParticipant, isPublisher: boolean): ParticipantInfo {
  const described = { sid: participantSid(peerId), identity, name, metadata, attributes };
  return new ParticipantInfo({ ...described, state: ParticipantInfo_State.ACTIVE, isPublisher });
}
