// Render queue without CPU capacity: reasons, cancelling, and work of other or ended nodes.
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { renderOptionsSchema } from '../../../../api/render.ts';
import { Admission } from '../../../../node/components/process/admission.ts';
import { RenderQueue } from '../../../../node/components/render/render-queue.ts';
import type { RenderSource } from '../../../../node/rooms/services/renders.ts';
import { eventually } from '../../../kit/eventually.ts';
import { noUploads } from '../../../kit/fakes/component-registry.ts';
import { addFiles, makeResources } from '../../../kit/processes/resources-folder.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { turns } from '../../../kit/turns.ts';

const options = renderOptionsSchema.parse({});
const ended = 'The node shut down before rendering finished';
const none = { state: 'none', progress: 0 };

/** Live media uses all CPU capacity, so that no rendering starts. */
async function busyNode(t: TestContext, ids: readonly string[], archive?: RenderSource, log = silentLog()) {
  const resources = await makeResources(t);
  for (const id of ids)
    await addFiles(resources, { [`recordings/${id}/report.json`]: JSON.stringify({ id, type: 'recording', state: 'finished' }) });
  const admission = new Admission(() => ({ budget: 1, cores: 2, busy: 0 }));
  admission.take(0.8);
  const renders = new RenderQueue({
    log,
    resources,
    node: 'svc@here',
    uploads: noUploads,
    archive,
    isRunning: (id) => id === 'live',
    admission,
  });
  t.after(() => renders.close());
  const folder = (id: string) => join(resources, 'recordings', id);
  return { renders, folder, resources };
}

test('a queued recording reports the missing CPU capacity', async (t) => {
  const { renders, folder } = await busyNode(t, ['one', 'two']);
  assert.deepEqual(await renders.getRender('one'), none);
  await renders.render('one', options);
  await renders.render('two', options);
  const { state, progress, reason } = await renders.getRender('one');
  assert.deepEqual([state, progress], ['queued', 0]);
  assert.match(reason ?? '', /^This node has no capacity for rendering a recording: 0\.5 cores are required, and 0\.8 of 1\.0 /);
  assert.deepEqual(await renders.getRender('two'), { state: 'queued', progress: 0 });
  await renders.cancelRender('one');
  assert.deepEqual(await renders.getRender('one'), none);
  assert.deepEqual(await readdir(folder('one')), ['report.json']);
  assert.match((await renders.getRender('two')).reason ?? '', /no capacity/, 'the next job is first in the queue');
  await renders.cancelRender('one');
});

test('concurrent requests for one recording share its result', async (t) => {
  const { renders } = await busyNode(t, ['one']);
  const views = await Promise.all(Array.from({ length: 20 }, () => renders.render('one', options)));
  assert.deepEqual(new Set(views.map(({ state }) => state)), new Set(['queued']));
  await renders.discard('one');
  assert.deepEqual(await renders.getRender('one'), none);
});

test('queued recordings fail at shutdown', async (t) => {
  const { renders, folder } = await busyNode(t, ['one']);
  await renders.render('one', options);
  await renders.close();
  assert.deepEqual(JSON.parse(await readFile(join(folder('one'), '.render.json'), 'utf8')), { state: 'failed', reason: ended });
  await assert.rejects(renders.render('one', options), { code: 'unavailable' });
});

test('unfinished work of this node, or with a stale heartbeat, fails and its partial files are deleted', async (t) => {
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

test('a request during recovery reports the failure', async (t) => {
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

test('invalid recording ids are not found', async (t) => {
  const { renders } = await busyNode(t, ['one', 'live']);
  await assert.rejects(renders.getRender('..'), { code: 'bad_request' });
  await assert.rejects(renders.render('a/b', options), { code: 'bad_request' });
  await assert.rejects(renders.cancelRender('nothing'), { code: 'not_found' });
  await assert.rejects(renders.render('live', options), { code: 'conflict' });
});

test('after a restart under another name, orphaned work is recovered once its heartbeat is stale', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { renders, folder } = await busyNode(t, ['other']);
  await writeFile(join(folder('other'), '.render.json'), JSON.stringify({ state: 'running', node: 'svc@before' }));
  await writeFile(join(folder('other'), '.rendered.mp4.77.part'), 'half');
  await renders.start();
  const longAgo = new Date(Date.now() - 120_000);
  await utimes(join(folder('other'), '.render.json'), longAgo, longAgo);
  t.mock.timers.tick(60_000);
  await eventually('partial files are deleted', async () => (await readdir(folder('other'))).length <= 2, { every: 1 });
  assert.match(await readFile(join(folder('other'), '.render.json'), 'utf8'), /"failed"|"running"/);
  await renders.close();
  assert.deepEqual(await renders.getRender('other'), { state: 'failed', progress: 0, reason: ended });
});

/** S3 with one recording, `kept`, and one stream. */
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

test('an archived recording is rendered in a separate folder, which is deleted afterwards; the result is reported', async (t) => {
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

test('of an interrupted rendering from S3 only the failure is kept, for a day', async (t) => {
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

test('without server-wide S3 the error says that it is missing', async (t) => {
  const { renders } = await busyNode(t, [], { ...archive, isThere: () => false });
  await assert.rejects(renders.render('kept', options), /exists on no node, and server-wide S3 storage is not configured$/);
});
