// Rendering over nodes: where only S3 has a recording, the node that is at work on it is found, and the one that is asked takes what nobody has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterRenders } from '../../../node/cluster/cluster-renders.ts';
import { type LocalRenderService, renderOptionsSchema } from '../../../node/rooms/shapes/renders.ts';
import { FakeNetwork } from '../../kit/fakes/fake-links.ts';

function stage() {
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
    const links = network.join(name);
    const renders = new ClusterRenders({ links, own, locate: async (id) => (id === 'on-c' ? 'svc@c' : undefined) });
    links.handle({ call: async (_from, method, data) => renders.answer(method, data), cast: () => {} });
    return { renders, works };
  });
  network.connectAll();
  const [a, b, c] = nodes;
  assert.ok(a && b && c);
  return { a, b, c, asked, network };
}

const options = renderOptionsSchema.parse({});

test('the node that has it renders it; what only S3 has the one that is asked, which all others find then', async () => {
  const { a, b, c, asked } = stage();
  await a.renders.render('on-c', options);
  await b.renders.render('in-s3', options);
  await c.renders.render('in-s3', options);
  assert.deepEqual(asked, ['svc@c render on-c', 'svc@b render in-s3', 'svc@b render in-s3']);
  for (const { renders } of [a, b, c]) assert.equal((await renders.getRender('in-s3')).state, 'running');
  await c.renders.cancelRender('in-s3');
  assert.equal(b.works.size, 0);
  assert.equal((await a.renders.getRender('in-s3')).state, 'none');
});

test('a node that does not answer keeps nobody from rendering', async () => {
  const { a, b, asked, network } = stage();
  await b.renders.render('in-s3', options);
  network.kill('svc@b');
  await a.renders.render('in-s3', options);
  assert.deepEqual(asked, ['svc@b render in-s3', 'svc@a render in-s3']);
});
