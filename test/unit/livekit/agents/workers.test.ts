// Websockets of workers of agents: who may register, what their messages do, and what closes them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import type { AgentJob, AgentJobType, AgentJobUpdate } from '../../../../api/operations/agent-rpcs.ts';
import { agentLimits } from '../../../../node/livekit/agents/limits.ts';
import { AgentWorkers, type AgentWorkersOptions } from '../../../../node/livekit/agents/workers.ts';
import { AccessTokens } from '../../../../node/rooms/tokens/access-tokens.ts';
import { accessKey, signAccessToken } from '../../../kit/access-tokens.ts';
import { eventually } from '../../../kit/eventually.ts';
import { type AgentWorkerInit, TestAgentWorker, workerToken } from '../../../kit/livekit/agent-worker.ts';
import { listen } from '../../../kit/network/listen.ts';
import { silentLog } from '../../../kit/silent-log.ts';

const job: AgentJob = {
  ...{ id: 'AJ_1', dispatchId: 'AD_1', roomId: 'tests-room', incarnation: 'i', roomMetadata: '' },
  ...{ agentName: '', metadata: 'about', attributes: { a: 'b' }, type: 'room', again: false },
};

async function start(t: TestContext, options: Partial<AgentWorkersOptions> = {}) {
  const free: string[] = [];
  const updates: (AgentJobUpdate & { owner: string })[] = [];
  const workers = new AgentWorkers({
    log: silentLog(),
    limits: agentLimits,
    tokens: new AccessTokens({ keys: () => [{ ...accessKey, roomPrefix: 'tests-' }], maxTtl: () => 86_400_000 }),
    checkOrigin: () => 'any',
    address: () => 'node.example.com',
    free: (agentName, type) => free.push(`${type} ${agentName}`),
    jobUpdated: (owner, update) => updates.push({ owner, ...update }),
    simulate: async () => {},
    adopt: async () => [],
    ...options,
  });
  const server = createServer();
  server.on('upgrade', (request, socket, head) => workers.handleUpgrade(request, socket, head));
  const url = `http://127.0.0.1:${await listen(t, server)}`;
  t.after(() => workers.close());
  const register = (init: Partial<AgentWorkerInit> = {}) => TestAgentWorker.register({ url, ...init });
  const idOf = () => workers.accepting('', 'tests-room', 'room')[0]?.workerId ?? '';
  /** Offers the job, and assigns it if it is accepted. */
  const assign = async (given: Partial<AgentJob> = {}) => {
    const id = idOf();
    const offered = await workers.offer('owner', id, { ...job, ...given });
    if (offered.available) assert.equal(await workers.assign(id, given.id ?? job.id), true);
    return offered;
  };
  return { workers, url, free, updates, register, idOf, assign };
}

async function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/agent`, { headers });
  const [, response] = await once(socket, 'unexpected-response');
  socket.on('error', () => {});
  socket.terminate();
  return response.statusCode;
}

test('only a token with the grant agent opens a worker, up to the limit of the node', async (t) => {
  const { url, register } = await start(t, { limits: { ...agentLimits, workers: 1 } });
  assert.equal(await statusOf(url, {}), 401);
  assert.equal(await statusOf(url, { authorization: 'Bearer x.y.z' }), 401);
  assert.equal(await statusOf(url, { authorization: `Bearer ${await signAccessToken()}` }), 403);
  await register();
  assert.equal(await statusOf(url, { authorization: `Bearer ${await workerToken()}` }), 503);
});

test('a worker accepts jobs of its agent in rooms of its key, until it is full', async (t) => {
  const { workers, free, register } = await start(t);
  const worker = await register();
  assert.deepEqual(free, ['room ']);
  const accepts = (agentName: string, roomId: string) => workers.accepting(agentName, roomId, 'room').length === 1;
  assert.deepEqual([accepts('', 'tests-room'), accepts('', 'room'), accepts('other', 'tests-room')], [true, false, false]);
  worker.send({ case: 'updateWorker', value: { status: 1, load: 0.9 } });
  await eventually('it is full', () => !accepts('', 'tests-room'));
  worker.send({ case: 'updateWorker', value: { status: 0, load: 0.5 } });
  await eventually('it accepts jobs again', () => accepts('', 'tests-room'));
  assert.deepEqual([workers.accepting('', 'tests-room', 'room')[0]?.load, free], [0.5, ['room ', 'room ']]);
  worker.send({ case: 'ping', value: { timestamp: 7n } });
  assert.equal((await worker.waitFor('pong')).lastTimestamp, 7n);
});

const participant = { peerId: 'p', identity: 'ada', name: 'Ada', metadata: '{"seat":1}', attributes: { role: 'host' } };

test('a worker for publishers gets jobs with a participant, and none of rooms', async (t) => {
  const { workers, free, register } = await start(t);
  const worker = await register({ agentName: 'notes', type: 1 });
  assert.deepEqual([free, workers.agents], [['publisher notes'], [{ agentName: 'notes', type: 'publisher' }]]);
  assert.deepEqual(workers.accepting('notes', 'tests-room', 'room'), []);
  const [found] = workers.accepting('notes', 'tests-room', 'publisher');
  const ofRoom = { ...job, agentName: 'notes' };
  assert.equal((await workers.offer('owner', found?.workerId ?? '', ofRoom)).available, false);
  const ofPublisher: AgentJob = { ...ofRoom, type: 'publisher', participant };
  assert.equal((await workers.offer('owner', found?.workerId ?? '', ofPublisher)).available, true);
  assert.equal(await workers.assign(found?.workerId ?? '', job.id), true);
  const { job: assigned } = await worker.waitFor('assignment');
  const { identity, name, metadata, attributes, isPublisher } = assigned?.participant ?? {};
  assert.deepEqual(
    [assigned?.type, identity, name, metadata, attributes, isPublisher],
    [1, 'ada', 'Ada', '{"seat":1}', { role: 'host' }, true],
  );
});

test('a worker for participants gets jobs of participants only', async (t) => {
  const { workers, free, register } = await start(t);
  const worker = await register({ type: 2 });
  assert.deepEqual([free, workers.agents], [['participant '], [{ agentName: '', type: 'participant' }]]);
  assert.deepEqual(workers.accepting('', 'tests-room', 'publisher'), []);
  const [found] = workers.accepting('', 'tests-room', 'participant');
  const offer = (type: AgentJobType) => workers.offer('owner', found?.workerId ?? '', { ...job, type, participant });
  assert.equal((await offer('publisher')).available, false);
  assert.equal((await offer('participant')).available, true);
  assert.equal(await workers.assign(found?.workerId ?? '', job.id), true);
  const { job: assigned } = await worker.waitFor('assignment');
  assert.deepEqual([assigned?.type, assigned?.participant?.identity, assigned?.participant?.isPublisher], [2, 'ada', false]);
});

test('an accepted job is assigned with a token, and its changes are reported to the owning node', async (t) => {
  const { workers, register, idOf, assign, updates } = await start(t);
  const worker = await register({ identity: 'robot' });
  const id = idOf();
  assert.deepEqual(await assign(), { available: true, identity: 'robot' });
  const { job: assigned } = await worker.waitFor('assignment');
  assert.deepEqual([assigned?.metadata, assigned?.attributes, assigned?.room?.name], ['about', { a: 'b' }, 'tests-room']);
  assert.equal(await workers.assign(id, job.id), false);
  worker.send({ case: 'updateJob', value: { jobId: 'AJ_1', status: 2 } });
  await eventually('the job has succeeded', () => updates.length === 2);
  await assign({ id: 'AJ_2' });
  worker.kill();
  const statuses = () => updates.map(({ jobId, status, owner, workerId }) => [jobId, status, owner, workerId === id]);
  await eventually('the second job is lost', () => statuses().some(([, status]) => status === 'lost'));
  assert.deepEqual(
    statuses().filter(([jobId, status]) => jobId === 'AJ_1' || status === 'lost'),
    [
      ['AJ_1', 'running', 'owner', true],
      ['AJ_1', 'succeeded', 'owner', true],
      ['AJ_2', 'lost', 'owner', true],
    ],
  );
});

test('a worker that declines, does not respond in time, or is lost gets no job', async (t) => {
  const { register, assign } = await start(t, { limits: { ...agentLimits, availabilityTimeout: 50 } });
  let response: boolean | null = false;
  const worker = await register({ available: () => response });
  assert.deepEqual(await assign(), { available: false, terminate: false });
  response = null;
  assert.deepEqual(await assign(), { available: false, terminate: false });
  const offered = assign();
  worker.kill();
  assert.deepEqual(await offered, { available: false, terminate: false });
  assert.deepEqual(await assign(), { available: false });
});

test('jobs end by request of the owning node, and with it', async (t) => {
  const { workers, register, assign } = await start(t);
  const worker = await register();
  for (const id of ['AJ_1', 'AJ_2', 'AJ_3']) await assign({ id });
  workers.endJob('AJ_2');
  workers.nodeDown('other');
  workers.nodeDown('owner');
  await eventually('all jobs are terminated', () => worker.messages.filter((message) => message.case === 'termination').length === 3);
  assert.deepEqual([worker.jobs.size, workers.jobs], [0, 0]);
});

test('a job that ends before it is assigned is not assigned', async (t) => {
  const { workers, register, idOf } = await start(t);
  await register();
  const id = idOf();
  await workers.offer('owner', id, job);
  workers.endJob(job.id);
  assert.equal(await workers.assign(id, job.id), false);
});

test('a worker continues the jobs that their nodes let it continue; the others are terminated', async (t) => {
  const { workers, register } = await start(t, { adopt: async () => [{ owner: 'owner', job }] });
  const worker = await register();
  worker.send({ case: 'migrateJob', value: { jobIds: ['AJ_1', 'AJ_2'] } });
  assert.equal((await worker.waitFor('termination')).jobId, 'AJ_2');
  assert.equal(workers.jobs, 1);
});

test('a simulated job is a dispatch to a room of the key', async (t) => {
  const rooms: string[] = [];
  const { register } = await start(t, { simulate: async (roomId, agentName) => rooms.push(`${roomId} ${agentName}`) });
  const worker = await register({ agentName: 'notes' });
  worker.send({ case: 'simulateJob', value: { room: { name: 'other' } } });
  worker.send({ case: 'simulateJob', value: { room: { name: 'tests-room' } } });
  await eventually('it is dispatched', () => rooms.length > 0);
  assert.deepEqual(rooms, ['tests-room notes']);
});

const invalid: [string, (worker: TestAgentWorker) => void, number][] = [
  ['bytes that are no message', (worker) => worker.webSocket.send(Buffer.from([0xff, 0xff])), 4400],
  ['text', (worker) => worker.webSocket.send('{}'), 4400],
  ['a job before its registration', (worker) => worker.send({ case: 'updateJob', value: { jobId: 'AJ_1' } }), 4400],
  ['a registration for an unknown type of jobs', (worker) => worker.send({ case: 'register', value: { type: 3 as number } }), 4400],
  ['a registration with a long name', (worker) => worker.send({ case: 'register', value: { agentName: 'n'.repeat(129) } }), 4400],
  ['a large message', (worker) => worker.webSocket.send(Buffer.alloc(65 * 1024)), 4413],
];
for (const [what, send, code] of invalid) {
  test(`${what} closes the websocket of a worker with ${code}`, async (t) => {
    const { url, workers } = await start(t);
    const worker = await TestAgentWorker.open({ url });
    send(worker);
    assert.equal((await worker.closed).code, code);
    assert.equal(workers.size, 0);
  });
}

test('a second registration, too many messages, and none in time close the websocket of a worker', async (t) => {
  const { url, register } = await start(t, { limits: { ...agentLimits, registrationTimeout: 1_000 } });
  const twice = await register();
  twice.send({ case: 'register', value: {} });
  assert.equal((await twice.closed).code, 4400);
  const fast = await register();
  for (let sent = 0; sent < 400; sent += 1) fast.send({ case: 'ping', value: {} });
  assert.equal((await fast.closed).code, 4429);
  const silent = await TestAgentWorker.open({ url });
  assert.equal((await silent.closed).code, 4408);
});
