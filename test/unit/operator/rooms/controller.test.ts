// Room controller: which Rooms a change of another object enqueues.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeObject, keyOf, type Stored } from '../../../../operator/kube/objects.ts';
import type { ControllerObserver, QueueObserver } from '../../../../operator/kube/observer.ts';
import { Store } from '../../../../operator/kube/store.ts';
import type { Room } from '../../../../operator/objects.ts';
import { RoomController } from '../../../../operator/rooms/controller.ts';
import { roomIndexes } from '../../../../operator/rooms/room-conflicts.ts';
import { eventually } from '../../../kit/eventually.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { observed } from './observed.ts';

function aRoom(name: string, spec: object, namespace = 'n'): Stored<Room> {
  return observed({ spec, metadata: { name, namespace, uid: `uid-${namespace}-${name}` } }).room;
}

const sip = { registrarAddress: 'sip:r', username: 'u', passwordSecretRef: { name: 'phone', key: 'pw' } };

/** With these Rooms; `enqueued` returns the keys added since, by running the controller. */
function start(rooms: readonly Stored<Room>[]) {
  const store = new Store<Room>(roomIndexes);
  for (const room of rooms) store.set(room);
  let added = 0;
  const nothing = () => {};
  const metrics: QueueObserver & ControllerObserver = {
    ...{ queueCreated: nothing, queueRetried: nothing, queueTaken: nothing, queueDone: nothing, queueRefused: nothing },
    ...{ reconciled: nothing, reconcilePanicked: nothing, reconcileTimedOut: nothing, workers: nothing },
    queueAdded: () => {
      added += 1;
    },
  };
  const touched: string[] = [];
  const controller = new RoomController({
    client: { onReachable: () => nothing } as never,
    rooms: {
      // Called for each Room that is reconciled.
      get: (key) => {
        touched.push(key);
        return undefined;
      },
      list: () => {
        throw new Error('all Rooms are inspected');
      },
      where: (index, value) => store.where(index, value),
    },
    secrets: { read: async () => new Map(), written: nothing },
    access: {} as never,
    recorder: { emit: nothing },
    log: silentLog(),
    metrics,
  });
  const enqueued = async () => {
    const end = new AbortController();
    const running = controller.run(end.signal);
    await eventually('all keys are reconciled', () => touched.length === added, { every: 1 });
    end.abort();
    await running;
    return touched.sort();
  };
  return { controller, enqueued };
}

function secret(name: string, metadata: object = {}): Stored<KubeObject> {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'n', uid: name, resourceVersion: '1', ...metadata } };
}

test('an event of a Secret enqueues only the Rooms that name it, without inspecting the others', async () => {
  const plain = Array.from({ length: 5_000 }, (_, index) => aRoom(`plain-${index}`, {}));
  const named = aRoom('phones', { components: [{ name: 'c', sip }] });
  const elsewhere = aRoom('phones', { components: [{ name: 'c', sip }] }, 'other');
  const { controller, enqueued } = start([...plain, named, elsewhere]);
  controller.secretChanged(secret('phone'));
  controller.secretDeleted(secret('plain-7-peers'));
  controller.secretChanged(secret('unrelated'));
  assert.deepEqual(await enqueued(), [keyOf(named), 'n/plain-7'].sort());
});
