// Connections to S3 that break during a request: reads are retried once, writes are not.
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { S3Store } from '../../node/storage/s3/s3-store.ts';
import { startFaultyProxy } from '../kit/network/faulty-proxy.ts';
import { startS3Server } from '../kit/processes/s3-server.ts';

test('a connection that breaks before the response is retried for reads and reported for writes', async (t) => {
  const s3 = await startS3Server(t);
  const proxy = await startFaultyProxy(t, s3.port);
  const store = new S3Store({ ...s3.place, endpoint: proxy.url });
  t.after(() => store.close());
  const asked = async (run: () => Promise<unknown>) => {
    const before = proxy.asked.length;
    await run();
    return proxy.asked.slice(before).map(({ method }) => method);
  };
  await store.putText('a/b', 'data is saved', t.signal);

  const check = async () => assert.equal((await store.head('a/b', t.signal))?.size, 13);
  const read = async () => assert.equal(await text(await store.read('a/b', { start: 5, end: 6 }, t.signal, 10_000)), 'is');
  const list = async () =>
    assert.deepEqual(
      (await store.list('a/', t.signal)).map(({ name }) => name),
      ['a/b'],
    );
  const folders = async () => assert.deepEqual(await store.folders(t.signal, 10_000), ['a']);
  for (const [run, method] of [
    [check, 'HEAD'],
    [read, 'GET'],
    [list, 'GET'],
    [folders, 'GET'],
  ] as const) {
    proxy.next('cut');
    assert.deepEqual(await asked(run), [method, method]);
    proxy.next('cut', 'cut');
    const message = { name: 'StorageError', fault: 'failed', message: 'The connection to S3 was lost' };
    assert.deepEqual(await asked(() => assert.rejects(run(), message)), [method, method]);
  }

  proxy.next('cut');
  assert.deepEqual(await asked(() => assert.rejects(store.putText('a/c', 'c', t.signal), { name: 'StorageError', fault: 'failed' })), [
    'PUT',
  ]);
  assert.equal(await s3.read('a/c'), undefined);
});
