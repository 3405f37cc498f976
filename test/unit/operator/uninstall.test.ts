// `--uninstall` with concurrent writes and an operator that has not ended. A real API server: test/kubernetes/operator-uninstall.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflict } from '../../../operator/kube/http/kube-error.ts';
import type { KubeObject, Stored } from '../../../operator/kube/objects.ts';
import { type UninstallOptions, uninstall } from '../../../operator/uninstall.ts';
import { silentLog } from '../../kit/silent-log.ts';

const room = (name: string): Stored<KubeObject> => ({
  apiVersion: 'mediarooms.dev/v1alpha2',
  kind: 'Room',
  metadata: { name, namespace: 'media', uid: name, resourceVersion: '1', finalizers: ['mediarooms.dev/room'] },
});
const common = { namespace: 'media', namespaces: ['media'], log: silentLog(), pollInterval: 1 };

test('removing the finalizer of a Room is retried after a concurrent write', async () => {
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
  await uninstall({ ...common, client, timeout: 0, deleteResources: true, deleteClaims: true });
  assert.deepEqual([...rooms.keys()], []);
});

test('finalizers are removed only after the operator of the release has ended', async () => {
  const rooms = [room('one')];
  const said: string[] = [];
  let operatorPods = 3;
  const client: UninstallOptions['client'] = {
    list: async <T extends KubeObject>({ kind }: { kind: string }, { labelSelector }: { labelSelector?: string | undefined } = {}) => {
      const mine = labelSelector?.endsWith('app.kubernetes.io/instance=rooms') === true;
      if (kind === 'Pod' && mine) {
        operatorPods -= 1;
        said.push(operatorPods > 0 ? 'running' : 'ended');
        return { items: Array.from({ length: operatorPods }, () => room('pod')) as Stored<T>[], resourceVersion: '1' };
      }
      return { items: (kind === 'Room' ? structuredClone(rooms) : []) as Stored<T>[], resourceVersion: '1' };
    },
    delete: () => Promise.reject(new Error('nothing is deleted')),
    patch: async (_resource, { name }, { metadata }) => {
      said.push(`patch ${name} ${JSON.stringify(metadata?.finalizers)}`);
      for (const each of rooms) each.metadata.finalizers = metadata?.finalizers as string[];
      return undefined;
    },
  };
  await uninstall({ ...common, client, release: 'rooms', timeout: 10_000, deleteResources: false, deleteClaims: false });
  assert.deepEqual(said, ['running', 'running', 'ended', 'patch one []']);
});
