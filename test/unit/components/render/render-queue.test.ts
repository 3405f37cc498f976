// The queue of recordings to render, while nothing may begin: what it says, who is let go, and what other nodes and dead ones left.
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../../../node/common/log.ts';
import { Admission } from '../../../../node/components/process/admission.ts';
import { RenderQueue } from '../../../../node/components/render/render-queue.ts';
import { type RenderSource, renderOptionsSchema } from '../../../../node/rooms/shapes/renders.ts';
import { eventually } from '../../../kit/eventually.ts';
import { noUploads } from '../../../kit/fakes/component-registry.ts';
import { addFiles, makeResources } from '../../../kit/processes/resources-folder.ts';
import { turns } from '../../../kit/turns.ts';

const options = renderOptionsSchema.parse({});
const ended = 'The node ended before it was rendered';
const none = { state: 'none', progress: 0 };

/** Something live has taken all that the machine can give, so that nothing is ever rendered. */
async function busyNode(t: TestContext, ids: readonly string[], archive?: RenderSource, log = silentLog()) {
  const resources = await makeResources(t);
  for (const id of ids)
    await addFiles(resources, { [`recordings/${id}/report.json`]: JSON.stringify({ id, type: 'recording', state: 'finished' }) });
  const admission = new Admission(() => ({ budget: 1, cores: 2, busy: 0 }));
  admission.take(0.8);
  const renders = new RenderQueue({
    log,
    resources,
    node: () => 'svc@here',
    uploads: noUploads,
    archive,
    isRunning: (id) => id === 'live',
    admission,
  });
  t.after(() => renders.close());
  const folder = (id: string) => join(resources, 'recordings', id);
  return { renders, folder, resources };
}

test('beside what is live it waits, and says for what', async (t) => {
  const { renders, folder } = await busyNode(t, ['one', 'two']);
  assert.deepEqual(await renders.getRender('one'), none);
  await renders.render('one', options);
  await renders.render('two', options);
  const { state, progress, reason } = await renders.getRender('one');
  assert.deepEqual([state, progress], ['queued', 0]);
  assert.match(reason ?? '', /^This node cannot carry rendering a recording as well: components may use 1\.0 cores, 0\.8 are in use/);
  assert.deepEqual(await renders.getRender('two'), { state: 'queued', progress: 0 });
  await renders.cancelRender('one');
  assert.deepEqual(await renders.getRender('one'), none);
  assert.deepEqual(await readdir(folder('one')), ['report.json']);
  assert.match((await renders.getRender('two')).reason ?? '', /cannot carry/, 'it is the turn of the next');
  await renders.cancelRender('one');
});

test('many who ask for the same get the same', async (t) => {
  const { renders } = await busyNode(t, ['one']);
  const views = await Promise.all(Array.from({ length: 20 }, () => renders.render('one', options)));
  assert.deepEqual(new Set(views.map(({ state }) => state)), new Set(['queued']));
  await renders.discard('one');
  assert.deepEqual(await renders.getRender('one'), none);
});

test('what waits when the node ends has failed', async (t) => {
  const { renders, folder } = await busyNode(t, ['one']);
  await renders.render('one', options);
  await renders.close();
  assert.deepEqual(JSON.parse(await readFile(join(folder('one'), '.render.json'), 'utf8')), { state: 'failed', reason: ended });
  await assert.rejects(renders.render('one', options), { code: 'unavailable' });
});

test('what this node or one without a sign of life left has failed, and is removed where it is half-made; what another one works on stays', async (t) => {
  const { renders, folder } = await busyNode(t, ['own', 'stale', 'other', 'done', 'odd']);
  const leave = (id: string, node: string) =>
    Promise.all([
      writeFile(join(folder(id), '.render.json'), JSON.stringify({ state: 'running', node })),
      writeFile(join(folder(id), '.rendered.mp4.77.part'), 'half'),
    ]);
  await Promise.all([leave('own', 'svc@here'), leave('stale', 'svc@gone'), leave('other', 'svc@there')]);
  const longAgo = new Date(Date.now() - 120_000);
  await utimes(join(folder('stale'), '.render.json'), longAgo, longAgo);
  await writeFile(join(folder('done'), 'rendered.mp4'), 'whole');
  await writeFile(join(folder('odd'), '.render.json'), '{"state":"flying"}');
  await mkdir(join(folder('odd'), 'rendered.mp4'));
  await renders.start();
  for (const id of ['own', 'stale']) {
    assert.deepEqual(await readdir(folder(id)), ['.render.json', 'report.json'], id);
    assert.deepEqual(await renders.getRender(id), { state: 'failed', progress: 0, reason: ended });
    await renders.cancelRender(id);
    assert.deepEqual(await renders.getRender(id), none);
  }
  assert.equal((await readdir(folder('other'))).length, 3);
  assert.deepEqual(await renders.getRender('other'), { state: 'running', progress: 0 });
  assert.deepEqual(await renders.render('other', options), { state: 'running', progress: 0 });
  await assert.rejects(renders.cancelRender('other'), { code: 'conflict' });
  assert.deepEqual(await renders.getRender('done'), { state: 'done', progress: 1 });
  assert.deepEqual(await renders.getRender('odd'), none);
});

test('who asks while the node looks after what it left hears that it failed', async (t) => {
  const ids = Array.from({ length: 50 }, (_, index) => `left-${index}`);
  const { renders, folder } = await busyNode(t, ids);
  for (const id of ids) await writeFile(join(folder(id), '.render.json'), JSON.stringify({ state: 'running', node: 'svc@here' }));
  const askLater = async (id: string, count: number) => {
    await turns(count);
    return renders.getRender(id);
  };
  const asked = ids.flatMap((id) => Array.from({ length: 12 }, (_, count) => askLater(id, count)));
  await renders.start();
  for (const view of await Promise.all(asked)) assert.deepEqual(view, { state: 'failed', progress: 0, reason: ended });
});

test('names that are none of a recording lead nowhere', async (t) => {
  const { renders } = await busyNode(t, ['one', 'live']);
  await assert.rejects(renders.getRender('..'), { code: 'bad_request' });
  await assert.rejects(renders.render('a/b', options), { code: 'bad_request' });
  await assert.rejects(renders.cancelRender('nothing'), { code: 'not_found' });
  await assert.rejects(renders.render('live', options), { code: 'conflict' });
});

test('who comes back under another name looks again once nobody can be at work on the rest', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { renders, folder } = await busyNode(t, ['other']);
  await writeFile(join(folder('other'), '.render.json'), JSON.stringify({ state: 'running', node: 'svc@before' }));
  await writeFile(join(folder('other'), '.rendered.mp4.77.part'), 'half');
  await renders.start();
  const longAgo = new Date(Date.now() - 120_000);
  await utimes(join(folder('other'), '.render.json'), longAgo, longAgo);
  t.mock.timers.tick(60_000);
  await eventually('what is half-made goes', async () => (await readdir(folder('other'))).length <= 2, { every: 1 });
  assert.match(await readFile(join(folder('other'), '.render.json'), 'utf8'), /"failed"|"running"/);
  await renders.close();
  assert.deepEqual(await renders.getRender('other'), { state: 'failed', progress: 0, reason: ended });
});

/** An S3 that has one recording, `kept`, and a stream. */
const archive: RenderSource = {
  isThere: () => true,
  open: async ({ folder, file }) => {
    if (file !== 'report.json' || !['kept', 'stream'].includes(folder)) return undefined;
    const startTime = '2026-01-01T00:00:00.000Z';
    const type = folder === 'stream' ? 'hls' : 'recording';
    const report = { id: folder, type, roomId: 'r', node: 'svc@gone', state: 'running', startTime, endTime: null, tracks: [] };
    const text = JSON.stringify(report);
    return { status: 200, headers: { 'content-length': String(text.length) }, body: Readable.from([text]) };
  },
  add: () => assert.fail(),
};

test('one that only S3 has is worked on in a folder of its own, which goes with the work; whoever asks is told', async (t) => {
  const { renders, resources } = await busyNode(t, ['one'], archive);
  const work = () => readdir(join(resources, 'renders'));
  assert.deepEqual([await renders.getRender('kept'), await renders.holds('kept')], [none, false]);
  await renders.render('one', options);
  assert.deepEqual(await renders.render('kept', options), { state: 'queued', progress: 0 });
  assert.deepEqual([await renders.holds('kept'), await renders.holds('one'), await work()], [true, true, ['kept']]);
  await renders.cancelRender('kept');
  assert.deepEqual([await renders.getRender('kept'), await renders.holds('kept'), await work()], [none, false, []]);
  await assert.rejects(renders.render('stream', options), { code: 'bad_request' });
  await assert.rejects(renders.render('other', options), { code: 'not_found' });
  await renders.render('kept', options);
  await renders.close();
  assert.deepEqual(await renders.getRender('kept'), { state: 'failed', progress: 0, reason: ended });
  assert.deepEqual(await readdir(join(resources, 'renders', 'kept')), ['.render.json']);
  await renders.discard('kept');
  assert.deepEqual(await work(), []);
});

test('of what a process left that fetched from S3 only the failure stays, for a day', async (t) => {
  const { renders, resources } = await busyNode(t, [], archive);
  const leave = async (id: string, state: object) => {
    await addFiles(resources, { [`renders/${id}/.render.json`]: JSON.stringify(state), [`renders/${id}/track.webm`]: 'fetched' });
    return join(resources, 'renders', id);
  };
  const folder = await leave('kept', { state: 'running', node: 'svc@here' });
  const old = await leave('old', { state: 'failed', reason: ended });
  const longAgo = new Date(Date.now() - 25 * 3600_000);
  await utimes(join(old, '.render.json'), longAgo, longAgo);
  const other = await leave('other', { state: 'running', node: 'svc@there' });
  await renders.start();
  assert.deepEqual((await readdir(join(resources, 'renders'))).sort(), ['kept', 'other']);
  assert.deepEqual([await readdir(folder), (await readdir(other)).length], [['.render.json'], 2]);
  assert.deepEqual(await renders.getRender('kept'), { state: 'failed', progress: 0, reason: ended });
});

test('without an S3 of the server it is said that this is missing', async (t) => {
  const { renders } = await busyNode(t, [], { ...archive, isThere: () => false });
  await assert.rejects(renders.render('kept', options), /is on the disk of no node, and the server has no S3 storage of its own/);
});
