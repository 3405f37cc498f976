// Cluster rendering: the node with the files renders; for recordings in S3 the asked node renders, and other nodes find it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderOptionsSchema } from '../../../api/render.ts';
import { serveRenders } from '../../../node/cluster/cluster-renders.ts';
import type { LocalRenderService } from '../../../node/rooms/services/renders.ts';
import { callsOf, makeDispatcher, makeRouter } from '../../kit/fakes/dispatcher.ts';
import { FakeNetwork } from '../../kit/fakes/fake-links.ts';

function setup() {
  const network = new FakeNetwork();
  const asked: string[] = [];
  const nodes = ['svc@a', 'svc@b', 'svc@c'].map((name) => {
    const works = new Set<string>();
    const own: LocalRenderService = {
      holds: async (id) => works.has(id),
      render: async (id) => {
        works.add(id);
        asked.push(`${name} render ${id}`);
        return { state: 'queued', progress: 0 };
      },
      getRender: async (id) => ({ state: works.has(id) ? 'running' : 'none', progress: 0 }),
      cancelRender: async (id) => void works.delete(id),
    };
    const dispatcher = makeDispatcher({ links: network.join(name) });
    serveRenders({ dispatcher, own, locate: async (id) => (id === 'on-c' ? 'svc@c' : undefined) });
    return { run: callsOf(makeRouter(dispatcher)), works };
  });
  network.connectAll();
  const [a, b, c] = nodes;
  assert.ok(a && b && c);
  return { a, b, c, asked, network };
}

const options = renderOptionsSchema.parse({});
const inS3 = { recordingId: 'in-s3' };

test('the node with the recording renders it, and a recording in S3 is rendered by the asked node and found by the others', async () => {
  const { a, b, c, asked } = setup();
  await a.run.renderRecording({ recordingId: 'on-c' }, options);
  await b.run.renderRecording(inS3, options);
  await c.run.renderRecording(inS3, options);
  assert.deepEqual(asked, ['svc@c render on-c', 'svc@b render in-s3', 'svc@b render in-s3']);
  for (const { run } of [a, b, c]) assert.equal((await run.getRender(inS3)).state, 'running');
  await c.run.cancelRender(inS3);
  assert.equal(b.works.size, 0);
  assert.equal((await a.run.getRender(inS3)).state, 'none');
});

test('an unresponsive node does not prevent rendering', async () => {
  const { a, b, asked, network } = setup();
  await b.run.renderRecording(inS3, options);
  network.kill('svc@b');
  await a.run.renderRecording(inS3, options);
  assert.deepEqual(asked, ['svc@b render in-s3', 'svc@a render in-s3']);
});
