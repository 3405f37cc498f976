// Three nodes with real distribution: each publisher has one job of an agent for publishers, whatever happens to its workers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { reassignedWithin, startAgentCluster } from '../kit/livekit/agent-cluster.ts';
import { type AgentWorkerInit, TestAgentWorker } from '../kit/livekit/agent-worker.ts';
import { enterRoom } from '../kit/network/room-sockets.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';
import { opusParameters } from '../media/kit.ts';

test('each publisher has exactly one job through kills of workers and of a node, until it disconnects', async (t) => {
  const [owner, second, third] = await startAgentCluster(t, 3);
  assert.ok(owner && second && third);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  /** Jobs of living workers, by identity of the publisher. */
  const jobs = new Map<string, Set<string>>();
  const of = (identity: string) => jobs.get(identity) ?? jobs.set(identity, new Set()).get(identity) ?? new Set();
  let most = 0;
  const workers: TestAgentWorker[] = [];
  const register = async (init: Pick<AgentWorkerInit, 'url'> & Partial<AgentWorkerInit>) => {
    const worker = await TestAgentWorker.register({
      type: 1,
      onAssigned: ({ job }) => {
        const identity = job.participant?.identity ?? '';
        of(identity).add(job.id);
        most = Math.max(most, of(identity).size);
      },
      onTerminated: (jobId) => {
        for (const ids of jobs.values()) ids.delete(jobId);
      },
      ...init,
    });
    t.after(() => worker.webSocket.terminate());
    workers.push(worker);
    return worker;
  };
  const lose = (worker: TestAgentWorker) => {
    for (const { job } of worker.jobs.values()) of(job.participant?.identity ?? '').delete(job.id);
    workers.splice(workers.indexOf(worker), 1);
  };
  let ssrc = 0;
  const join = async (peerId: string) => {
    const socket = await enterRoom(t, owner, 'r', { peerId });
    const transport = await socket.request('createTransport', { direction: 'send' });
    const publish = async () => {
      ssrc += 1;
      const track = { transportId: transport.data?.id, kind: 'audio', rtpParameters: opusParameters(String(ssrc)) };
      const { ok, error } = await socket.request('publish', track);
      assert.ok(ok, JSON.stringify(error));
    };
    return { socket, publish };
  };

  const early = await join('early');
  await early.publish();
  await register({ url: second.url, type: 0 });
  await register({ url: second.url });
  await eventually('the publisher that was first has a job', () => of('early').size === 1);
  const late = await join('late');
  await join('listener');
  await late.publish();
  await late.publish();
  const settled = () => ['early', 'late'].every((identity) => of(identity).size === 1);
  await eventually('each publisher has a job', settled);

  for (let kills = 0; kills < 8; kills += 1) {
    await register({ url: [second, third][kills % 2]?.url ?? '' });
    const [victim] = workers.filter(({ jobs: held }) => [...held.values()].some(({ job }) => job.participant));
    assert.ok(victim);
    lose(victim);
    victim.kill();
    const took = stopwatch();
    await eventually('each publisher has a job again', settled);
    assertPrompt('the assignment to another worker', took(), { promised: reassignedWithin });
  }
  await register({ url: third.url });
  for (const worker of workers.filter(({ webSocket }) => webSocket.url.includes(new URL(second.url).host))) lose(worker);
  await second.close();
  await eventually('each publisher has a job of the other node', settled);

  await late.socket.cut();
  assert.equal((await owner.api.delete('/room/r/peer/late')).status, 204);
  await eventually('the job of the publisher that left has ended', () => of('late').size === 0);
  assert.deepEqual([of('early').size, of('listener').size, most], [1, 0, 1]);
});
