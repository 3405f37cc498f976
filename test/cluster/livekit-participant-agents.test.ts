// Two nodes with real distribution: each participant has one job of an agent for participants, at workers of both nodes, until it disconnects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { reassignedWithin, startAgentCluster } from '../kit/livekit/agent-cluster.ts';
import { TestAgentWorker } from '../kit/livekit/agent-worker.ts';
import { LiveKitSocket } from '../kit/livekit/livekit-socket.ts';
import { enterRoom } from '../kit/network/room-sockets.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';

test('each participant, but no agent, has one job, which moves to a worker of another node', async (t) => {
  const [owner, second] = await startAgentCluster(t, 2);
  assert.ok(owner && second);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const workers: TestAgentWorker[] = [];
  const register = async (url: string) => {
    const worker = await TestAgentWorker.register({ url, type: 2 });
    t.after(() => worker.webSocket.terminate());
    workers.push(worker);
    return worker;
  };
  const jobs = () => workers.flatMap((worker) => [...worker.jobs.values()]);
  const identities = () => jobs().map(({ job }) => job.participant?.identity ?? '');
  const hasJobs = async (...expected: string[]) =>
    eventually(
      () => `jobs of ${expected}, not of ${identities()}`,
      () => identities().sort().join() === expected.join(),
    );

  await enterRoom(t, owner, 'r', { peerId: 'early' });
  const first = await register(second.url);
  await hasJobs('early');
  const late = await enterRoom(t, owner, 'r', { peerId: 'late' });
  await hasJobs('early', 'late');
  const agent = await LiveKitSocket.open(owner.url, jobs()[0]?.token ?? '');
  t.after(() => agent.webSocket.terminate());
  assert.equal((await agent.waitFor('join')).participant?.kind, 4);

  await register(owner.url);
  first.kill();
  const took = stopwatch();
  await hasJobs('early', 'late');
  assertPrompt('the assignment to another worker', took(), { promised: reassignedWithin });
  await agent.waitFor('leave');
  await late.cut();
  assert.equal((await owner.api.delete('/room/r/peer/late')).status, 204);
  await hasJobs('early');
  assert.deepEqual(
    jobs().map(({ job }) => [job.type, job.participant?.isPublisher]),
    [[2, false]],
  );
  await second.close();
  await enterRoom(t, owner, 'r', { peerId: 'last' });
  await hasJobs('early', 'last');
});
