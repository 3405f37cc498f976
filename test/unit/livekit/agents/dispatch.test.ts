// Dispatches of agents to a room: at most one job each, moved to another worker if its worker is lost.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AgentJob, AgentJobUpdate, AgentRequest } from '../../../../api/operations/agent-rpcs.ts';
import { type Candidate, type JobPlacement, sorted } from '../../../../node/livekit/agents/dispatch.ts';
import { RoomAgents } from '../../../../node/livekit/agents/room-agents.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { turns } from '../../../kit/turns.ts';

const request: AgentRequest = { agentName: '', metadata: '', attributes: {}, restart: true };
const worker = (workerId: string, load = 0, node = 'a'): Candidate => ({ workerId, load, node });

/** Workers accept jobs and are assigned them, unless `placement` changes it. */
function makeRoom(t: TestContext, placement: Partial<JobPlacement> = {}) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const log: string[] = [];
  const jobs: AgentJob[] = [];
  const workers: Candidate[] = [];
  /** Of agents for publishers, and for participants. */
  const ofPublishers: Candidate[] = [];
  const ofParticipants: Candidate[] = [];
  const byType = { room: workers, publisher: ofPublishers, participant: ofParticipants };
  const agents = new RoomAgents({
    log: silentLog(),
    times: { orphanGrace: 1_000, retry: 2_000, restart: 500 },
    room: { roomId: 'room', incarnation: 'i', metadata: () => 'about' },
    expel: (identity) => log.push(`expel ${identity}`),
    serves: (_, type) => byType[type].length > 0,
    workers: async (_, __, type) => [...byType[type]],
    offer: async ({ workerId }, job) => {
      log.push(`offer ${workerId}`);
      jobs.push(job);
      return { available: true, identity: `agent of ${workerId}` };
    },
    assign: async ({ workerId }) => log.push(`assign ${workerId}`) > 0,
    end: (node, jobId) => log.push(`end ${node} ${jobId === jobs.at(-1)?.id ? 'last' : 'earlier'}`),
    ...placement,
  });
  const update = (status: AgentJobUpdate['status'], workerId: string, node = 'a') =>
    agents.updated(node, { roomId: 'room', jobId: jobs.at(-1)?.id ?? '', workerId, status, error: '' });
  const pass = async (milliseconds: number) => {
    t.mock.timers.tick(milliseconds);
    await turns();
  };
  /** The log since the last call. */
  const seen = async () => {
    await turns();
    return log.splice(0);
  };
  return {
    agents,
    workers,
    ofPublishers,
    ofParticipants,
    jobs,
    update,
    pass,
    seen,
    statuses: () => agents.list().flatMap((each) => each.jobs.map(({ status }) => status)),
  };
}

test('the least loaded worker is asked first, and the next one if it declines', async (t) => {
  const { agents, workers, seen, statuses } = makeRoom(t, {
    offer: async ({ workerId }) => (workerId === 'idle' ? { available: false } : { available: true, identity: 'x' }),
  });
  workers.push(worker('busy', 0.9), worker('idle', 0.1), worker('half', 0.5));
  agents.dispatch(request);
  assert.deepEqual(await seen(), ['assign half']);
  assert.deepEqual(statuses(), ['running']);
  assert.deepEqual(
    sorted([worker('b', 0.5), worker('c', 0.1), worker('a', 0.5)]).map(({ workerId }) => workerId),
    ['c', 'a', 'b'],
  );
});

test('a second request for the same agent is the same dispatch', async (t) => {
  const { agents, workers, seen } = makeRoom(t);
  workers.push(worker('w'));
  const { id } = agents.dispatch(request);
  assert.equal(agents.dispatch(request).id, id);
  assert.deepEqual(await seen(), ['offer w', 'assign w']);
  assert.equal(agents.dispatch(request).id, id);
  agents.workerFree('', 'room');
  assert.notEqual(agents.dispatch({ ...request, agentName: 'other' }).id, id);
  assert.deepEqual(await seen(), ['offer w', 'assign w']);
});

test('a dispatch without workers waits until one is free', async (t) => {
  const { agents, workers, seen, pass } = makeRoom(t);
  agents.dispatch(request);
  await pass(60_000);
  assert.deepEqual(await seen(), []);
  workers.push(worker('w'));
  agents.workerFree('other', 'room');
  assert.deepEqual(await seen(), []);
  agents.workerFree('', 'room');
  assert.deepEqual(await seen(), ['offer w', 'assign w']);
});

test('if every worker declines, they are asked again later', async (t) => {
  let available = false;
  const { agents, workers, seen, pass } = makeRoom(t, { offer: async () => (available ? { available, identity: 'x' } : { available }) });
  workers.push(worker('w'));
  agents.dispatch(request);
  assert.deepEqual(await seen(), []);
  available = true;
  await pass(2_000);
  assert.deepEqual(await seen(), ['assign w']);
});

test('the job of a lost worker is assigned again after the grace period, and its participant removed before', async (t) => {
  const { agents, workers, jobs, update, seen, pass, statuses } = makeRoom(t);
  workers.push(worker('v', 0.1), worker('w', 0.2, 'b'));
  agents.dispatch(request);
  await seen();
  workers.shift();
  update('lost', 'other');
  update('lost', 'v', 'other');
  update('lost', 'v');
  await pass(999);
  assert.deepEqual(await seen(), []);
  await pass(1);
  assert.deepEqual(await seen(), ['end a last', 'expel agent of v', 'offer w', 'assign w']);
  assert.deepEqual(statuses(), ['failed', 'running']);
  assert.deepEqual(
    jobs.map(({ again, roomMetadata }) => [again, roomMetadata]),
    [
      [false, 'about'],
      [true, 'about'],
    ],
  );
  agents.nodeDown('a');
  await pass(1_000);
  assert.deepEqual(await seen(), []);
  agents.nodeDown('b');
  await pass(1_000);
  assert.deepEqual(await seen(), ['end b last', 'expel agent of w', 'offer w', 'assign w']);
});

test('a worker that connects again within the grace period continues its job, later not', async (t) => {
  const { agents, workers, jobs, update, seen, pass } = makeRoom(t);
  workers.push(worker('w'));
  agents.dispatch(request);
  await seen();
  const [job] = jobs;
  update('lost', 'w');
  await pass(500);
  assert.equal(agents.adopt('b', 'again', job?.id ?? '')?.id, job?.id);
  await pass(10_000);
  update('lost', 'w');
  await pass(10_000);
  assert.deepEqual(await seen(), []);
  update('lost', 'again', 'b');
  await pass(1_000);
  assert.equal(agents.adopt('b', 'late', job?.id ?? ''), undefined);
  assert.deepEqual(await seen(), ['end b last', 'expel agent of w', 'offer w', 'assign w']);
});

test('a job that could not be assigned is ended, and offered to the next worker', async (t) => {
  const { agents, workers, seen } = makeRoom(t, {
    assign: async ({ workerId }) => {
      if (workerId === 'v') throw new Error('no response');
      return true;
    },
  });
  workers.push(worker('v'), worker('w'));
  agents.dispatch(request);
  assert.deepEqual(await seen(), ['offer v', 'end a last', 'expel agent of v', 'offer w']);
});

test('a worker that terminates an offered job ends the dispatch', async (t) => {
  const { agents, workers, seen } = makeRoom(t, { offer: async () => ({ available: false, terminate: true }) });
  workers.push(worker('v'), worker('w'));
  agents.dispatch(request);
  await seen();
  agents.workerFree('', 'room');
  assert.deepEqual(await seen(), []);
  assert.notEqual(agents.dispatch(request).id, agents.list()[0]?.id);
});

test('a dispatch that is deleted while a worker considers its job assigns nothing', async (t) => {
  const offered = Promise.withResolvers<{ available: true; identity: string }>();
  const { agents, workers, seen } = makeRoom(t, { offer: () => offered.promise });
  workers.push(worker('w'));
  const { id } = agents.dispatch(request);
  await seen();
  agents.delete(id);
  offered.resolve({ available: true, identity: 'x' });
  assert.deepEqual(await seen(), ['end a earlier']);
  assert.deepEqual(agents.list(), []);
  assert.throws(() => agents.delete(id), /does not exist/);
});

test('a job that succeeded ends the dispatch; one that failed is assigned again three times', async (t) => {
  const { agents, workers, update, seen, pass, statuses } = makeRoom(t);
  workers.push(worker('w'));
  agents.dispatch(request);
  for (let restarts = 0; restarts <= 3; restarts += 1) {
    assert.deepEqual((await seen()).slice(-2), ['offer w', 'assign w']);
    update('failed', 'w');
    await pass(500);
  }
  assert.deepEqual(await seen(), ['end a last', 'expel agent of w']);
  assert.deepEqual(statuses(), ['failed', 'failed', 'failed', 'failed']);
  agents.dispatchOnce(request);
  assert.deepEqual(await seen(), []);
  agents.dispatch(request);
  await seen();
  update('succeeded', 'w');
  await pass(10_000);
  assert.deepEqual(await seen(), ['end a last', 'expel agent of w']);
});

test('a room has at most 16 active dispatches; those that are done make space', async (t) => {
  const { agents, workers, update, seen } = makeRoom(t);
  workers.push(worker('w'));
  agents.dispatch({ ...request, agentName: 'first' });
  await seen();
  update('succeeded', 'w');
  for (let index = 0; index < 16; index += 1) agents.dispatch({ ...request, agentName: String(index) });
  assert.equal(agents.list().length, 16);
  assert.throws(() => agents.dispatch(request), /16 active dispatches/);
});

test('the end of the room ends its jobs', async (t) => {
  const { agents, workers, seen, pass } = makeRoom(t);
  workers.push(worker('w'));
  agents.dispatch(request);
  await seen();
  agents.close();
  agents.workerFree('', 'room');
  await pass(10_000);
  assert.deepEqual(await seen(), ['end a last', 'expel agent of w']);
});

const participant = (peerId: string) => ({ peerId, identity: peerId, name: '', metadata: '', attributes: {} });

test('each publisher has one job of an agent for publishers, until it leaves', async (t) => {
  const { agents, ofPublishers, jobs, seen } = makeRoom(t);
  agents.joined(participant('early'), 'publisher');
  agents.dispatch({ ...request, agentName: 'notes' });
  assert.deepEqual(await seen(), []);
  ofPublishers.push(worker('w'));
  agents.workerFree('notes', 'publisher');
  agents.workerFree('notes', 'publisher');
  assert.deepEqual(await seen(), ['offer w', 'assign w']);
  agents.joined(participant('ada'), 'publisher');
  agents.joined(participant('ada'), 'publisher');
  agents.workerFree('other', 'publisher');
  assert.deepEqual(await seen(), ['offer w', 'assign w']);
  agents.dispatch({ ...request, agentName: 'captions' });
  assert.deepEqual(await seen(), ['offer w', 'offer w', 'assign w', 'assign w']);
  assert.deepEqual(
    jobs.map((job) => `${job.agentName} ${job.participant?.identity}`),
    ['notes early', 'notes ada', 'captions early', 'captions ada'],
  );
  agents.left('ada');
  assert.deepEqual(await seen(), ['end a earlier', 'expel agent of w', 'end a last', 'expel agent of w']);
  agents.joined(participant('ada'), 'publisher');
  await seen();
  const [notes] = agents.list();
  assert.deepEqual(
    [jobs.length, notes?.jobs.map(({ type, status }) => [type, status])],
    [
      6,
      [
        ['publisher', 'running'],
        ['publisher', 'running'],
      ],
    ],
  );
  agents.delete(notes?.id ?? '');
  assert.deepEqual(await seen(), ['end a earlier', 'expel agent of w', 'end a earlier', 'expel agent of w']);
  agents.close();
  assert.equal((await seen()).length, 4);
});

test('the job of a publisher moves if its worker is lost, and a finished one is not repeated', async (t) => {
  const { agents, ofPublishers, jobs, update, seen, pass } = makeRoom(t);
  ofPublishers.push(worker('v'), worker('w', 0.5, 'b'));
  agents.dispatch(request);
  agents.joined(participant('ada'), 'publisher');
  assert.deepEqual(await seen(), ['offer v', 'assign v']);
  ofPublishers.shift();
  agents.nodeDown('a');
  await pass(1_000);
  assert.deepEqual(await seen(), ['end a last', 'expel agent of v', 'offer w', 'assign w']);
  assert.deepEqual(
    jobs.map(({ participant: of, again }) => [of?.peerId, again]),
    [
      ['ada', true],
      ['ada', true],
    ],
  );
  update('succeeded', 'w', 'b');
  await seen();
  agents.workerFree('', 'publisher');
  await pass(10_000);
  assert.deepEqual(await seen(), []);
});

test('each participant has one job of an agent for participants, next to that for publishers, until it leaves', async (t) => {
  const { agents, ofPublishers, ofParticipants, jobs, seen, pass } = makeRoom(t);
  agents.dispatch({ ...request, agentName: 'notes' });
  agents.joined(participant('early'), 'participant');
  assert.deepEqual(await seen(), []);
  ofParticipants.push(worker('v'), worker('w', 0.5, 'b'));
  ofPublishers.push(worker('p'));
  agents.workerFree('notes', 'participant');
  agents.joined(participant('ada'), 'participant');
  agents.joined(participant('ada'), 'participant');
  assert.deepEqual(await seen(), ['offer v', 'offer v', 'assign v', 'assign v']);
  agents.joined(participant('ada'), 'publisher');
  assert.deepEqual(await seen(), ['offer p', 'assign p']);
  assert.deepEqual(
    jobs.map(({ type, participant: of }) => `${type} ${of?.identity}`),
    ['participant early', 'participant ada', 'publisher ada'],
  );
  agents.left('early');
  assert.deepEqual(await seen(), ['end a earlier', 'expel agent of v']);
  for (const lost of [ofPublishers, ofParticipants]) lost.shift();
  agents.nodeDown('a');
  await pass(1_000);
  assert.deepEqual(await seen(), ['end a earlier', 'expel agent of v', 'end a last', 'expel agent of p', 'offer w', 'assign w']);
  assert.deepEqual(
    agents.list().flatMap((each) => each.jobs.map(({ type, status }) => `${type} ${status}`)),
    ['participant failed', 'participant running', 'publisher failed'],
  );
  agents.left('ada');
  assert.deepEqual(await seen(), ['end b last', 'expel agent of w']);
});
