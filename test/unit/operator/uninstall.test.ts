// `--uninstall` with concurrent writes. Order, and a real API server: test/kubernetes/operator-uninstall.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflict } from '../../../operator/kube/http/kube-error.ts';
import type { KubeObject, Stored } from '../../../operator/kube/objects.ts';
import { silentLog } from '../../../operator/log.ts';
import { type UninstallOptions, uninstall } from '../../../operator/uninstall.ts';

test('removing the finalizer of a Room is retried after a concurrent write', async () => {
  const room = (name: string): Stored<KubeObject> => ({
    apiVersion: 'mediarooms.dev/v1alpha2',
    kind: 'Room',
    metadata: { name, namespace: 'media', uid: name, resourceVersion: '1', finalizers: ['mediarooms.dev/room'] },
  });
  const rooms = new Map(['one', 'two', 'three'].map((name) => [name, room(name)]));
  let written = false;
  const client: UninstallOptions['client'] = {
    list: async <T extends KubeObject>({ kind }: { kind: string }) => ({
      items: (kind === 'Room' ? structuredClone([...rooms.values()]) : []) as Stored<T>[],
      resourceVersion: '1',
    }),
    delete: async () => true,
    patch: async (_resource, { name }, { metadata }) => {
      const stored = rooms.get(name);
      if (!stored) return undefined;
      // A concurrent write between list and patch, once.
      if (name === 'two' && !written) {
        written = true;
        stored.metadata.resourceVersion = '2';
      }
      if (metadata?.resourceVersion !== stored.metadata.resourceVersion) throw conflict('the object has been modified');
      rooms.delete(name);
      return undefined;
    },
  };
  await uninstall({ client, namespaces: ['media'], timeout: 0, log: silentLog(), pollInterval: 1 });
  assert.deepEqual([...rooms.keys()], []);
});
