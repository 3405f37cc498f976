// Shared bucket: a node lists, serves and deletes only its own folders, including those of release 0.7.0.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { S3Store } from '../../node/storage/s3/s3-store.ts';
import { startS3Server } from '../kit/processes/s3-server.ts';
import { startNode } from '../kit/processes/start-node.ts';

const time = '20260101T000000000Z';
const foreign = [
  'backups/customers.sql',
  `backups-${time}/customers.sql`,
  `copied-${time}/report.json`,
  `broken-${time}/report.json`,
  `pieces-${time}/.chunks/a.webm/no-piece`,
];

test('foreign folders are not listed, read or deleted; folders of release 0.7.0 are, and get their marker', async (t) => {
  const s3 = await startS3Server(t);
  const store = new S3Store(s3.place);
  t.after(() => store.close());
  for (const name of foreign) await store.putText(name, name.startsWith('copied') ? '{"id":"other"}' : 'theirs', t.signal);
  const report = (id: string) =>
    JSON.stringify({ id, roomId: 'x', node: 'n', state: 'finished', startTime: '2026-01-01T00:00:00.000Z', endTime: null });
  const [whole, lost, marked] = ['whole', 'lost', 'marked'].map((name) => `${name}-${time}`) as [string, string, string];
  await store.putText(`${whole}/report.json`, report(whole), t.signal);
  await store.putText(`${whole}/a.webm`, 'sound', t.signal);
  await store.putText(`${lost}/.chunks/a.webm/000000000000000`, 'piece', t.signal);
  await store.putText(`.mediarooms/${marked}`, '', t.signal);
  await store.putText(`${marked}/a.webm`, 'marked', t.signal);
  const { api } = await startNode(t, s3.env);
  const names = () => s3.names();

  for (const name of foreign) {
    const folder = name.split('/', 1)[0] ?? '';
    const file = name.slice(name.lastIndexOf('/') + 1);
    assert.equal((await api.get(`/recording/${folder}/${file}`)).status, 404, name);
    assert.equal((await api.get(`/recording/${folder}`)).status, 404, name);
    assert.equal((await api.delete(`/recording/${folder}`)).status, 404, name);
    assert.equal((await api.post(`/recording/${folder}/render`, {})).status, 404, name);
  }
  assert.ok((await api.delete('/recording/.mediarooms')).status >= 400);
  assert.deepEqual((await api.get('/recording')).body.data, [lost, marked, whole]);
  const { recordings } = (await api.get('/recording?details=true')).body;
  assert.deepEqual(
    (recordings as { id: string }[]).map(({ id }) => id),
    [whole],
  );
  assert.equal((await api.get(`/recording/${lost}/a.webm`)).status, 200);
  assert.deepEqual(
    (await names()).filter((name) => name.startsWith('.mediarooms/')),
    [lost, marked, whole].map((id) => `.mediarooms/${id}`),
  );
  for (const id of [lost, marked, whole]) assert.equal((await api.delete(`/recording/${id}`)).status, 204, id);
  assert.deepEqual(await names(), [...foreign].sort());
  assert.deepEqual((await api.get('/recording')).body.data, []);
});
