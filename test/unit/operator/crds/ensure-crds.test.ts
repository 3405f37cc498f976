// The definitions at the operator's start, with an API server that a test scripts call by call: what a real one does only seldom.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crdVersion, versionAnnotation } from '../../../../crds/crd-manifests.ts';
import type { Definition } from '../../../../operator/crds/crd-upgrade.ts';
import { CrdError, type EnsureOptions, ensureCrds } from '../../../../operator/crds/ensure-crds.ts';
import type { KubeClient } from '../../../../operator/kube/client.ts';
import { KubeError } from '../../../../operator/kube/kube-error.ts';
import type { KubeObject, Stored } from '../../../../operator/kube/objects.ts';
import { silentLog } from '../../../../operator/log.ts';

type World = {
  stored: Map<string, Stored<Definition>>;
  calls: string[];
  /** Errors that the next calls of that kind fail with. */
  failures: { call: 'get' | 'create' | 'apply'; error: KubeError }[];
  served: boolean;
  /** Called before each look, e.g. to let another operator act. */
  before?: (call: string) => void;
};
const both = ['rooms.mediarooms.dev', 'mediaclusters.mediarooms.dev'];
const established = { conditions: [{ type: 'Established', status: 'True' }] };

function store(world: World, name: string, version: string, more: Pick<Definition, 'spec' | 'status'> = {}): void {
  const metadata = { name, uid: 'u', resourceVersion: String(world.calls.length + 10), annotations: { [versionAnnotation]: version } };
  world.stored.set(name, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata,
    status: established,
    ...more,
  });
}

/** What of the client is asked for definitions, upon the definitions of a world. */
function clientOf(world: World): Pick<KubeClient, 'get' | 'create' | 'apply' | 'serves'> {
  const enter = (call: 'get' | 'create' | 'apply', name: string) => {
    world.before?.(call);
    world.calls.push(`${call} ${name}`);
    const index = world.failures.findIndex((failure) => failure.call === call);
    const [failure] = index < 0 ? [] : world.failures.splice(index, 1);
    if (failure) throw failure.error;
  };
  const write = (object: KubeObject) => {
    store(world, object.metadata.name, object.metadata.annotations?.[versionAnnotation] ?? '', { spec: (object as Definition).spec });
    return world.stored.get(object.metadata.name);
  };
  return {
    get: async (_resource, { name }) => {
      enter('get', name);
      return world.stored.get(name) as never;
    },
    create: async (_resource, object) => {
      enter('create', object.metadata.name);
      if (world.stored.has(object.metadata.name)) throw failed(409, 'AlreadyExists');
      return write(object) as never;
    },
    apply: async (_resource, object) => {
      enter('apply', object.metadata.name);
      const version = world.stored.get(object.metadata.name)?.metadata.resourceVersion;
      if (version !== object.metadata.resourceVersion) throw failed(409, 'Conflict');
      return write(object) as never;
    },
    serves: async () => world.served,
  };
}

function failed(status: number, reason: string, message = `${reason}!`): KubeError {
  return new KubeError({ status, reason, message });
}

function makeWorld(more: Partial<World> = {}): World {
  return { stored: new Map(), calls: [], failures: [], served: true, ...more };
}

/** Runs it in a time that passes with every sleep. */
function run(world: World, more: Partial<EnsureOptions> = {}): Promise<void> {
  let time = 0;
  return ensureCrds({
    client: clientOf(world),
    log: silentLog(),
    apply: true,
    signal: new AbortController().signal,
    sleep: async (ms, signal) => {
      time += ms;
      signal.throwIfAborted();
    },
    now: () => time,
    ...more,
  });
}

const versions = (world: World) => both.map((name) => world.stored.get(name)?.metadata.annotations?.[versionAnnotation]);
const current = crdVersion;

describe('ensureDefinitions()', () => {
  it('makes both where there are none', async () => {
    const world = makeWorld();
    await run(world);
    assert.deepEqual(versions(world), [current, current]);
    assert.deepEqual(
      world.calls.filter((call) => call.startsWith('create')),
      both.map((name) => `create ${name}`),
    );
  });

  it('replaces older ones and only looks at its own and at newer ones', async () => {
    const world = makeWorld();
    store(world, both[0] as string, '0.1.0');
    store(world, both[1] as string, '1000.0.0');
    await run(world);
    assert.deepEqual(versions(world), [current, '1000.0.0']);
    const again = makeWorld({ stored: world.stored });
    await run(again);
    assert.deepEqual(
      again.calls,
      both.map((name) => `get ${name}`),
    );
  });

  it('never takes the place of what a younger operator makes in between', async () => {
    const made = makeWorld();
    made.before = (call) => call === 'create' && store(made, both[0] as string, '1000.0.0');
    await run(made);
    assert.equal(versions(made)[0], '1000.0.0');

    const replaced = makeWorld();
    store(replaced, both[0] as string, '0.1.0');
    replaced.before = (call) => call === 'apply' && store(replaced, both[0] as string, '1000.0.0');
    await run(replaced);
    assert.equal(versions(replaced)[0], '1000.0.0');
  });

  it('waits for one that is being deleted to be gone, and makes it anew', async () => {
    const world = makeWorld();
    store(world, both[0] as string, current);
    const leaving = world.stored.get(both[0] as string);
    if (leaving) leaving.metadata.deletionTimestamp = '2026-11-21T12:00:00Z';
    world.before = () => world.calls.length === 3 && world.stored.delete(both[0] as string);
    await run(world);
    assert.deepEqual(
      world.calls.slice(0, 5),
      ['get', 'get', 'get', 'get', 'create'].map((call) => `${call} ${both[0]}`),
    );
    assert.equal(world.stored.get(both[0] as string)?.metadata.deletionTimestamp, undefined);
  });

  it('waits until the API server has established and serves it, and gives up with a sentence', async () => {
    const world = makeWorld();
    store(world, both[0] as string, current, { status: {} });
    await assert.rejects(run(world), /rooms.mediarooms.dev does not work: the API server has not established it yet$/);
    assert.ok(world.calls.length > 100, 'it looked for all of its patience');
    const unserved = makeWorld({ served: false });
    await assert.rejects(run(unserved), /does not serve it yet/);
    const taken = makeWorld();
    const status = { conditions: [{ type: 'NamesAccepted', status: 'False', message: '"mroom" is already in use' }] };
    store(taken, both[0] as string, current, { status });
    await assert.rejects(run(taken, { patienceMs: 500 }), (error) => error instanceof CrdError && /"mroom" is already/.test(error.message));
    assert.equal(taken.calls.length, 3);
  });

  it('survives an API server that is away for a while', async () => {
    const away = [failed(0, 'Unreachable'), failed(503, 'ServiceUnavailable'), failed(0, 'Timeout')];
    const world = makeWorld({ failures: away.map((error) => ({ call: 'get', error })) });
    await run(world);
    assert.deepEqual(versions(world), [current, current]);
  });

  it('survives an API server that starts: it refuses everybody until it has read its rules, and writes until its admission is ready', async () => {
    const world = makeWorld();
    const refusals = 5;
    world.failures = [
      ...Array.from({ length: refusals }, () => ({ call: 'get' as const, error: failed(403, 'Forbidden', 'cannot get') })),
      { call: 'create', error: failed(403, 'Forbidden', 'definitions "rooms" is forbidden: not yet ready to handle request') },
    ];
    const client = clientOf(world);
    const serves = async () => {
      if (world.calls.length < refusals) throw failed(403, 'Forbidden', 'cannot get path');
      return world.served;
    };
    await run(world, { client: { ...client, serves } });
    assert.deepEqual(versions(world), [current, current]);
  });

  it('gives up at once where the API server refuses a definition', async () => {
    const world = makeWorld({ failures: [{ call: 'create', error: failed(422, 'Invalid', 'spec.scope: is immutable') }] });
    await assert.rejects(
      run(world),
      /^DefinitionsError: The API server refuses the definition rooms.mediarooms.dev: spec.scope: is immutable$/,
    );
    assert.equal(world.calls.length, 2);
  });

  it('works without the right to read definitions where the kinds are there, and else says what to do', async () => {
    const forbidden = (times: number) =>
      Array.from({ length: times }, () => ({ call: 'get' as const, error: failed(403, 'Forbidden', 'cannot get') }));
    const world = makeWorld({ failures: forbidden(4) });
    await run(world);
    assert.deepEqual(
      world.calls,
      both.flatMap((name) => [`get ${name}`, `get ${name}`]),
    );
    const without = makeWorld({ failures: forbidden(1_000), served: false });
    await assert.rejects(
      run(without),
      /Room is not installed, and this operator may not install it \(cannot get\): kubectl apply -f crds\//,
    );
  });

  it('changes nothing where it is told so', async () => {
    const world = makeWorld();
    for (const name of both) store(world, name, '0.1.0');
    await run(world, { apply: false });
    assert.deepEqual(versions(world), ['0.1.0', '0.1.0']);
    const none = makeWorld();
    await assert.rejects(run(none, { apply: false, patienceMs: 0 }), /may not install it: kubectl apply -f crds\//);
    assert.deepEqual(none.calls, [`get ${both[0]}`]);
  });

  it('ends with the signal', async () => {
    const world = makeWorld();
    store(world, both[0] as string, current, { status: {} });
    const ended = new AbortController();
    world.before = () => world.calls.length === 2 && ended.abort(new Error('the operator ends'));
    await assert.rejects(run(world, { signal: ended.signal }), /the operator ends/);
    assert.equal(world.calls.length, 3);
  });
});
