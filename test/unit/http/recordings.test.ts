// Reports of recordings over REST: reports of all versions match the schema.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { makeContent } from '../../kit/media/content.ts';
import { makeResources } from '../../kit/processes/resources-folder.ts';
import { startServer } from './server.ts';

const times = { startTime: '2026-11-21T12:00:00.005Z', endTime: '2026-11-21T12:00:01.005Z' };
const track = {
  trackId: 't',
  file: 't.webm',
  type: 'audio',
  encoding: 'opus',
  origin: { peerId: 'p' },
  metadata: null,
  offset: 0,
  duration: 1,
};
/** Reports of versions that only had recordings. */
const old = { id: 'r-20261121T120000005Z', roomId: 'r', node: 'svc@a', state: 'finished', ...times, tracks: [track] };

test('a report without a type, as stored by older versions, is one of a recording, and the stored file is not changed', async (t) => {
  const path = `recordings/${old.id}/report.json`;
  const resources = await makeResources(t, { [path]: JSON.stringify({ ...old, unknown: 1 }) });
  const { api } = await startServer(t, { content: makeContent(resources) });
  const { status, headers, body } = await api.request('GET', `/recording/${old.id}`, { headers: { range: 'bytes=0-3' } });
  assert.deepEqual([status, headers.get('content-type'), body], [200, 'application/json', { ...old, type: 'recording' }]);
  assert.deepEqual((await api.get(`/recording/${old.id}/report.json`)).body, { ...old, unknown: 1 });
  const head = await api.request('HEAD', `/recording/${old.id}`);
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, headers.get('content-length')]);
});

test('an invalid report is 404, and a report that ends early is 503', async (t) => {
  const texts = { none: '{"id":"none"}', half: JSON.stringify(old).slice(0, -9), text: 'report' };
  const files = Object.fromEntries(Object.entries(texts).map(([id, text]) => [`recordings/${id}/report.json`, text]));
  const onDisk = makeContent(await makeResources(t, files));
  const { api } = await startServer(t, { content: onDisk });
  for (const id of Object.keys(texts)) {
    const { status, body } = await api.get(`/recording/${id}`);
    assert.deepEqual([status, body.errors], [404, `Recording ${id} has no readable report`]);
  }
  const broken = makeContent('/nonexistent');
  const bytes = async function* () {
    yield Buffer.from('{');
    throw new Error('the node is lost');
  };
  broken.open = async () => ({ status: 200, headers: {}, body: Readable.from(bytes()) });
  const { api: other } = await startServer(t, { content: broken });
  const { status, body } = await other.get(`/recording/${old.id}`);
  assert.deepEqual([status, body.errors], [503, 'The report could not be read completely']);
});
