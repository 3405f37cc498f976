// Three nodes with real distribution: jobs of agents of LiveKit, with rooms and workers on any node.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DisconnectReason, JobStatus, ParticipantInfo_Kind, ParticipantInfo_State } from '@livekit/protocol';
import { decodeJwt } from 'jose';
import { AgentDispatchClient } from 'livekit-server-sdk';
import { accessKey, signAccessToken } from '../kit/access-tokens.ts';
import { eventually } from '../kit/eventually.ts';
import { reassignedWithin, startAgentCluster } from '../kit/livekit/agent-cluster.ts';
import { type AgentWorkerInit, type AssignedJob, TestAgentWorker } from '../kit/livekit/agent-worker.ts';
import { LiveKitSocket } from '../kit/livekit/livekit-socket.ts';
import { enterRoom } from '../kit/network/room-sockets.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';
import { seededRandom } from '../kit/seeded-random.ts';
import { opusParameters } from '../media/kit.ts';

async function register(t: TestContext, init: AgentWorkerInit): Promise<TestAgentWorker> {
  const worker = await TestAgentWorker.register(init);
  t.after(() => worker.webSocket.terminate());
  return worker;
}

async function join(t: TestContext, url: string, room: string, init: { identity?: string; claims?: Record<string, unknown> } = {}) {
  const { identity = 'ada', claims = {} } = init;
  const socket = await LiveKitSocket.open(url, await signAccessToken({ identity, room, video: { roomCreate: true }, claims }));
  t.after(() => socket.webSocket.terminate());
  const { otherParticipants } = await socket.waitFor('join');
  return Object.assign(socket, { others: otherParticipants });
}

const assigned = (workers: Iterable<TestAgentWorker>): AssignedJob[] => [...workers].flatMap(({ jobs }) => [...jobs.values()]);

test('the first peer of a room gets an agent, whose token lets it join as an agent, and whose job ends with the room', async (t) => {
  const [first, second] = await startAgentCluster(t, 2);
  assert.ok(first && second);
  const worker = await register(t, { url: second.url });
  await first.node.parts.rooms.createRoom({ roomId: 'r', metadata: { topic: 'tests' }, peerlessPurgeTimeout: 1 });
  const ada = await join(t, second.url, 'r');
  const { job, token } = await worker.waitFor('assignment');
  assert.deepEqual([job?.room?.name, job?.room?.metadata, job?.agentName], ['r', '{"topic":"tests"}', '']);
  const { iss, sub, video, kind } = decodeJwt(token) as Record<string, unknown>;
  assert.deepEqual([iss, sub, kind], ['backend', `agent-${job?.id}`, 'agent']);
  assert.deepEqual(video, { room: 'r', roomJoin: true, agent: true });

  const agent = await LiveKitSocket.open(second.url, token);
  assert.equal((await agent.waitFor('join')).participant?.kind, ParticipantInfo_Kind.AGENT);
  const { participants } = await ada.waitFor('update', (update) => update.participants.some(({ identity }) => identity === sub));
  assert.equal(participants.find(({ identity }) => identity === sub)?.kind, ParticipantInfo_Kind.AGENT);
  assert.match(await (await fetch(second.metricsUrl)).text(), /^svc_livekit_agent_jobs 1$/m);

  // The agent does not keep the room open.
  ada.send({ case: 'leave', value: {} });
  assert.equal((await worker.waitFor('termination')).jobId, job?.id);
  assert.equal((await agent.closed).code, 1000);
  assert.equal(first.node.parts.rooms.has('r'), false);
});

test('agents with names get the rooms whose tokens request them, next to the agent of all rooms', async (t) => {
  const [first, second] = await startAgentCluster(t, 2);
  assert.ok(first && second);
  const [all, named] = [await register(t, { url: first.url }), await register(t, { url: second.url, agentName: 'notes' })];
  const agents = [{ agentName: 'notes', metadata: 'take notes' }, { agentName: 'absent' }];
  await join(t, first.url, 'r', { claims: { roomConfig: { agents } } });
  const { job } = await named.waitFor('assignment');
  assert.deepEqual([job?.room?.name, job?.metadata, job?.agentName], ['r', 'take notes', 'notes']);
  await all.waitFor('assignment');
  await join(t, second.url, 'r', { identity: 'bob', claims: { roomConfig: { agents } } });
  await join(t, second.url, 'other');
  await eventually('the other room has its agent', () => all.jobs.size === 2);
  assert.equal(named.jobs.size, 1);
});

test('a room that is end-to-end encrypted gets no agents, and its agents do not receive encrypted tracks', async (t) => {
  const [first] = await startAgentCluster(t, 1);
  assert.ok(first);
  const worker = await register(t, { url: first.url, agentName: 'notes' });
  const sdk = new AgentDispatchClient(first.url, accessKey.id, accessKey.secret);
  const early = await sdk.createDispatch('r', 'notes');
  const { token } = await worker.waitFor('assignment');
  const agent = await LiveKitSocket.open(first.url, token);
  await agent.waitFor('join');
  const ada = await enterRoom(t, first, 'r', { peerId: 'ada' });
  const { data } = await ada.request('createTransport', { direction: 'send' });
  const track = { transportId: data?.id, kind: 'audio', rtpParameters: opusParameters('0'), encrypted: true };
  assert.equal((await ada.request('publish', track)).ok, true);
  assert.equal((await agent.waitFor('subscriptionPermissionUpdate')).allowed, false);

  await sdk.deleteDispatch(early.id, 'r');
  assert.equal((await agent.waitFor('leave')).reason, DisconnectReason.PARTICIPANT_REMOVED);
  const message = 'Room r is end-to-end encrypted; an agent cannot decode its tracks';
  await assert.rejects(sdk.createDispatch('r', 'notes'), { message });
  const late = await LiveKitSocket.open(first.url, await signAccessToken({ identity: 'late', room: 'r', claims: { kind: 'agent' } }));
  assert.equal((await late.waitFor('leave')).reason, DisconnectReason.JOIN_FAILURE);
});

test('the server SDK dispatches an agent to a room, lists and deletes its dispatch', async (t) => {
  const [first, second] = await startAgentCluster(t, 2);
  assert.ok(first && second);
  const worker = await register(t, { url: first.url, agentName: 'notes' });
  const sdk = new AgentDispatchClient(second.url, accessKey.id, accessKey.secret);
  const { id } = await sdk.createDispatch('new', 'notes', { metadata: 'take notes' });
  const { job } = await worker.waitFor('assignment');
  assert.deepEqual([job?.dispatchId, job?.metadata, job?.room?.name], [id, 'take notes', 'new']);
  assert.equal((await sdk.createDispatch('new', 'notes')).id, id);
  const listed = await eventually('the job runs', async () => {
    const [dispatch] = await sdk.listDispatch('new');
    return Number(dispatch?.state?.jobs[0]?.state?.status) === JobStatus.JS_RUNNING && dispatch;
  });
  assert.deepEqual([listed.id, listed.agentName, listed.state?.jobs.length, listed.state?.jobs[0]?.id], [id, 'notes', 1, job?.id]);
  assert.equal((await sdk.getDispatch(id, 'new'))?.id, id);
  await sdk.deleteDispatch(id, 'new');
  assert.equal((await worker.waitFor('termination')).jobId, job?.id);
  assert.deepEqual(await sdk.listDispatch('new'), []);
  await assert.rejects(sdk.deleteDispatch(id, 'new'), /does not exist/);
  await assert.rejects(sdk.listDispatch('unknown'), /does not exist/);
});

test('a worker that does not respond in time is passed over, and rooms are shared by load', async (t) => {
  const [first, second] = await startAgentCluster(t, 2);
  assert.ok(first && second);
  const silent = await register(t, { url: first.url, available: () => false });
  const workers = [await register(t, { url: first.url }), await register(t, { url: second.url })];
  for (let index = 0; index < 10; index += 1) {
    await join(t, first.url, `r${index}`);
    await eventually('the room has its agent', () => assigned(workers).length === index + 1);
  }
  assert.deepEqual(
    workers.map(({ jobs }) => jobs.size),
    [5, 5],
  );
  assert.equal(silent.jobs.size, 0);
});

test('a worker that connects to another node in time continues its job', async (t) => {
  const [first, second] = await startAgentCluster(t, 2);
  assert.ok(first && second);
  const worker = await register(t, { url: first.url });
  await join(t, first.url, 'r');
  const { job } = await worker.waitFor('assignment');
  const other = await register(t, { url: second.url });
  worker.webSocket.terminate();
  const again = await register(t, { url: second.url });
  again.send({ case: 'migrateJob', value: { jobIds: [job?.id ?? '', 'unknown'] } });
  assert.equal((await again.waitFor('termination')).jobId, 'unknown');
  again.kill();
  await eventually('the job is assigned again', () => other.jobs.size === 1);
  assert.equal(again.messages.filter((message) => message.case === 'termination').length, 1);
});

test('through 30 kills of workers each room has exactly one job, and a new one within 2 s', async (t) => {
  const nodes = await startAgentCluster(t, 3);
  const random = seededRandom(28);
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  /** Jobs of living workers, by room. */
  const jobs = new Map<string, Set<string>>();
  const of = (room: string) => jobs.get(room) ?? jobs.set(room, new Set()).get(room) ?? new Set();
  let most = 0;
  const workers = new Set<TestAgentWorker>();
  const start = async () => {
    const worker = await register(t, {
      url: pick(nodes).url,
      onAssigned: ({ job }) => {
        of(job.room?.name ?? '').add(job.id);
        most = Math.max(most, of(job.room?.name ?? '').size);
      },
      onTerminated: (jobId) => {
        for (const ids of jobs.values()) ids.delete(jobId);
      },
    });
    workers.add(worker);
  };
  for (let index = 0; index < 4; index += 1) await start();
  const rooms = Array.from({ length: 6 }, (_, index) => `r${index}`);
  for (const room of rooms) await join(t, pick(nodes).url, room);
  const settled = () => rooms.every((room) => of(room).size === 1);
  await eventually('each room has a job', settled);

  for (let kills = 0; kills < 30; kills += 1) {
    const victim = pick([...workers]);
    for (const { job } of victim.jobs.values()) of(job.room?.name ?? '').delete(job.id);
    workers.delete(victim);
    victim.kill();
    const took = stopwatch();
    await eventually('each room has a job again', settled);
    assertPrompt('the assignment to another worker', took(), { promised: reassignedWithin });
    await start();
  }
  assert.equal(most, 1);
  assert.equal(assigned(workers).length, rooms.length);
});

test('if the node of a worker is lost, its jobs are assigned again; if that of the rooms is, its jobs end', async (t) => {
  const [owner, lost, last] = await startAgentCluster(t, 3);
  assert.ok(owner && lost && last);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const worker = await register(t, { url: lost.url });
  const ada = await join(t, owner.url, 'r');
  const { token, job } = await worker.waitFor('assignment');
  const agent = await LiveKitSocket.open(last.url, token);
  await agent.waitFor('join');
  const other = await register(t, { url: last.url });
  const closed = lost.close();
  await eventually('the job is assigned again', () => other.jobs.size === 1);
  // The participant of the earlier job is removed, and its token rejected.
  await ada.waitFor('update', ({ participants }) =>
    participants.some(({ identity, state }) => identity === `agent-${job?.id}` && state === ParticipantInfo_State.DISCONNECTED),
  );
  await agent.closed;
  const late = await LiveKitSocket.open(last.url, token);
  assert.equal((await late.waitFor('leave')).reason, DisconnectReason.JOIN_FAILURE);
  await closed;
  await owner.close();
  await other.waitFor('termination');
});
