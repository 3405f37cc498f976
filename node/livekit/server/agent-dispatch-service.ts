// AgentDispatchService of LiveKit's server API: agents of rooms.
import {
  AgentDispatch,
  AgentDispatchState,
  CreateAgentDispatchRequest,
  DeleteAgentDispatchRequest,
  Job,
  JobRestartPolicy,
  JobState,
  JobStatus,
  ListAgentDispatchRequest,
  ListAgentDispatchResponse,
  Room,
} from '@livekit/protocol';
import { idSchema } from '../../../api/id.ts';
import { type AgentDispatchView, type AgentJobStatus, type AgentJobView, agentRequestSchema } from '../../../api/operations/agent-rpcs.ts';
import { roomOptionsOf } from '../../rooms/tokens/access-claims.ts';
import { jobTypes } from '../agents/worker-messages.ts';
import { type ServerMethods, serverMethod } from './server-method.ts';
import { parse } from './validated.ts';

const statuses: Readonly<Record<AgentJobStatus, JobStatus>> = {
  pending: JobStatus.JS_PENDING,
  running: JobStatus.JS_RUNNING,
  succeeded: JobStatus.JS_SUCCESS,
  failed: JobStatus.JS_FAILED,
};

export const agentDispatchService: ServerMethods = {
  'livekit.AgentDispatchService/CreateDispatch': serverMethod(CreateAgentDispatchRequest, async (context, request) => {
    const { access, agents, createRoom } = context;
    const { room: roomId, agentName, metadata, attributes, restartPolicy } = request;
    access.requireRoom('roomAdmin', roomId);
    const restart = restartPolicy === JobRestartPolicy.JRP_ON_FAILURE;
    const dispatch = parse(agentRequestSchema, { agentName, metadata, attributes, restart });
    // As with LiveKit's server, the agent may be the first participant.
    if (access.key.roomCreate !== false) await createRoom({ ...roomOptionsOf(parse(idSchema, roomId), {}, access.key) });
    return dispatchMessage(await agents.dispatch(roomId, dispatch));
  }),
  'livekit.AgentDispatchService/DeleteDispatch': serverMethod(DeleteAgentDispatchRequest, async ({ access, agents }, request) => {
    access.requireRoom('roomAdmin', request.room);
    return dispatchMessage(await agents.deleteDispatch(request.room, request.dispatchId), Date.now());
  }),
  'livekit.AgentDispatchService/ListDispatch': serverMethod(ListAgentDispatchRequest, async ({ access, agents }, request) => {
    const { room, dispatchId } = request;
    access.requireRoom('roomAdmin', room);
    const dispatches = (await agents.listDispatches(room)).filter(({ id }) => dispatchId === '' || id === dispatchId);
    return new ListAgentDispatchResponse({ agentDispatches: dispatches.map((dispatch) => dispatchMessage(dispatch)) });
  }),
};

function dispatchMessage(dispatch: AgentDispatchView, deletedAt = 0): AgentDispatch {
  const { id, roomId, agentName, metadata, attributes, restart, createdAt, jobs } = dispatch;
  return new AgentDispatch({
    ...{ id, room: roomId, agentName, metadata, attributes },
    restartPolicy: restart ? JobRestartPolicy.JRP_ON_FAILURE : JobRestartPolicy.JRP_NEVER,
    state: new AgentDispatchState({
      jobs: jobs.map((job) => jobMessage(dispatch, job)),
      createdAt: nanoseconds(createdAt),
      deletedAt: nanoseconds(deletedAt),
    }),
  });
}

function jobMessage({ id: dispatchId, roomId, agentName, metadata, attributes }: AgentDispatchView, job: AgentJobView): Job {
  const { id, type, status, error, startedAt, endedAt, identity, workerId } = job;
  return new Job({
    ...{ id, dispatchId, agentName, metadata, attributes, room: new Room({ name: roomId }) },
    type: jobTypes[type],
    state: new JobState({
      ...{ status: statuses[status], error, workerId, participantIdentity: identity },
      startedAt: nanoseconds(startedAt),
      endedAt: nanoseconds(endedAt),
    }),
  });
}

/** As LiveKit's server writes the times of jobs. */
function nanoseconds(milliseconds: number): bigint {
  return BigInt(milliseconds) * 1_000_000n;
}
