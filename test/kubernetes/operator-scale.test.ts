// Many Rooms and MediaClusters: a smaller run of the benchmark `operator-scale`, which measures 5,000 Rooms.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ScaleFixture } from '../kit/kube/controllers/scale-fixture.ts';

test('200 Rooms on 5 MediaClusters become Ready, and both controllers share one watch of each kind', async () => {
  const fixture = await ScaleFixture.start({ after }, { env: { NODE_OPTIONS: '--max-semi-space-size=4' } });
  const { operator } = fixture;
  const { peakBytes } = await fixture.apply({ clusters: 5, rooms: 200, withinMs: 150_000 });
  assert.equal(fixture.pods.rooms, 200);
  assert.ok(peakBytes < 250e6, `${peakBytes} bytes`);
  const ofEach = (metric: string) =>
    Promise.all(['rooms', 'mediaclusters', 'pods', 'secrets'].map((kind) => operator.metric(metric, `resource="${kind}"`)));
  const [rooms, clusters, pods] = await ofEach('mediarooms_operator_cached_objects');
  assert.deepEqual([rooms, clusters, pods], [200, 5, 5]);
  assert.deepEqual(await ofEach('mediarooms_operator_lists_total'), [1, 1, 1, 1]);
});
