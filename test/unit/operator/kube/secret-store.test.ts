// Secret store: when the content of a Secret is requested, shared and dropped.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeObject, keyOf, type Stored } from '../../../../operator/kube/objects.ts';
import { SecretStore } from '../../../../operator/kube/secret-store.ts';

type Secret = KubeObject & { data?: Record<string, string> };

/** A store over an API server that has these Secrets; `requested` records the requests for content. */
function start(maxBytes = 1_000) {
  const stored = new Map<string, Stored<Secret>>();
  const requested: string[] = [];
  const metadata = new Map<string, Stored<Secret>>();
  const store = new SecretStore<Secret>({
    metadata: { get: (key) => metadata.get(key), list: () => [...metadata.values()], synced: true },
    client: {
      find: async (_resource, { name }) => {
        requested.push(name);
        return stored.get(`n/${name}`) as never;
      },
    },
    maxBytes,
  });
  /** `seen`: whether the watch has reported it. */
  const set = (name: string, resourceVersion: string, value: string, { uid = `uid-${name}`, seen = true } = {}) => {
    const of = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'n', uid, resourceVersion } };
    stored.set(keyOf(of), { ...of, data: { value } });
    if (seen) metadata.set(keyOf(of), of);
  };
  const read = async (...names: string[]) => [...(await store.read('n', names))].map(([name, { data }]) => [name, data?.value]);
  return { store, set, read, requested, metadata };
}

test('content is requested once for each version, and before that a Secret has none', async () => {
  const { store, set, read, requested } = start();
  set('a', '1', 'one');
  assert.equal(store.get('n/a'), undefined);
  assert.deepEqual(await read('a', 'missing'), [['a', 'one']]);
  assert.deepEqual(await read('a'), [['a', 'one']]);
  assert.equal(store.get('n/a')?.data?.value, 'one');
  set('a', '2', 'two');
  assert.deepEqual(await read('a'), [['a', 'two']]);
  assert.deepEqual(requested, ['a', 'a']);
});

test('a response that is newer than the watch is kept when the watch follows', async () => {
  const { set, read, requested } = start();
  set('a', '1', 'one');
  set('a', '10', 'ten', { seen: false });
  assert.deepEqual(await read('a'), [['a', 'ten']]);
  set('a', '9', 'nine');
  assert.deepEqual(await read('a'), [['a', 'ten']]);
  assert.deepEqual(requested, ['a']);
});

test('written content is not requested, also if a read precedes the watch, unless the watch reports a newer version', async () => {
  const { store, set, read, requested } = start();
  const written = (resourceVersion: string, value: string): Stored<Secret> => ({
    ...{ apiVersion: 'v1', kind: 'Secret', data: { value } },
    metadata: { name: 'a', namespace: 'n', uid: 'uid-a', resourceVersion },
  });
  store.written(written('1', 'one'));
  assert.deepEqual(await read('a'), []);
  set('a', '1', 'one');
  assert.deepEqual(await read('a'), [['a', 'one']]);
  store.written(written('2', 'two'));
  assert.deepEqual(await read('a'), [['a', 'two']]);
  assert.deepEqual(requested, []);
  set('a', '3', 'three');
  assert.deepEqual(await read('a'), [['a', 'three']]);
  assert.deepEqual(requested, ['a']);
});

test('concurrent reads of one Secret share a request', async () => {
  const { set, read, requested } = start();
  set('a', '1', 'one');
  await Promise.all(Array.from({ length: 50 }, () => read('a')));
  assert.deepEqual(requested, ['a']);
});

test('a deleted Secret has no content, and a recreated one is requested again', async () => {
  const { store, set, read, requested, metadata } = start();
  set('a', '5', 'one');
  await read('a');
  metadata.clear();
  assert.equal(store.get('n/a'), undefined);
  assert.deepEqual(await read('a'), []);
  assert.equal(store.bytes, 0);
  set('a', '6', 'two', { uid: 'other' });
  assert.deepEqual(await read('a'), [['a', 'two']]);
  assert.deepEqual(requested, ['a', 'a']);
});

test('content beyond the bound is dropped, the least recently read first, and a read returns it nevertheless', async () => {
  const { store, set, read, requested } = start(25);
  for (const name of ['a', 'b', 'c']) set(name, '1', `${name}23`);
  await read('a');
  await read('b', 'c');
  await read('a');
  set('d', '1', 'd23');
  assert.deepEqual(await read('d'), [['d', 'd23']]);
  assert.ok(store.bytes <= 25);
  assert.deepEqual(
    ['a', 'b', 'd'].map((name) => store.get(`n/${name}`)?.data?.value),
    ['a23', undefined, 'd23'],
  );
  set('e', '1', 'e'.repeat(50));
  assert.deepEqual(await read('e'), [['e', 'e'.repeat(50)]]);
  assert.equal(store.bytes, 0);
  assert.equal(requested.length, 5);
});
