// Installation of the CRDs at startup, with a scripted API server for rare failures.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crdVersion, versionAnnotation } from '../../../../crds/crd-manifests.ts';
import type { Definition } from '../../../../operator/crds/crd-upgrade.ts';
import { CrdError, type EnsureOptions, ensureCrds } from '../../../../operator/crds/ensure-crds.ts';
import type { KubeClient } from '../../../../operator/kube/client.ts';
import { KubeError } from '../../../../operator/kube/http/kube-error.ts';
import type { KubeObject, Stored } from '../../../../operator/kube/objects.ts';
import { silentLog } from '../../../kit/silent-log.ts';

type FakeApiServer = {
  stored: Map<string, Stored<Definition>>;
  calls: string[];
  /** Errors of the next calls of that kind. */
  failures: { call: 'get' | 'create' | 'apply'; error: KubeError }[];
  served: boolean;
  /** Called before each attempt, for example to simulate another operator. */
  before?: (call: string) => void;
};
const both = ['rooms.mediarooms.dev', 'mediaclusters.mediarooms.dev'];
const established = { conditions: [{ type: 'Established', status: 'True' }] };

function store(server: FakeApiServer, name: string, version: string, more: Pick<Definition, 'spec' | 'status'> = {}): void {
  const metadata = { name, uid: 'u', resourceVersion: String(server.calls.length + 10), annotations: { [versionAnnotation]: version } };
  server.stored.set(name, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata,
    spec: {
      versions: [
        { name: 'v1alpha2', served: true },
        { name: 'v1alpha1', served: true },
      ],
    },
    status: established,
    ...more,
  });
}

/** The methods of the client for CRDs, on the state of a world. */
function clientOf(server: FakeApiServer): Pick<KubeClient, 'get' | 'create' | 'apply' | 'serves'> {
  const enter = (call: 'get' | 'create' | 'apply', name: string) => {
    server.before?.(call);
    server.calls.push(`${call} ${name}`);
    const index = server.failures.findIndex((failure) => failure.call === call);
    const [failure] = index < 0 ? [] : server.failures.splice(index, 1);
    if (failure) throw failure.error;
  };
  const write = (object: KubeObject) => {
    store(server, object.metadata.name, object.metadata.annotations?.[versionAnnotation] ?? '', { spec: (object as Definition).spec });
    return server.stored.get(object.metadata.name);
  };
  return {
    get: async (_resource, { name }) => {
      enter('get', name);
      return server.stored.get(name) as never;
    },
    create: async (_resource, object) => {
      enter('create', object.metadata.name);
      if (server.stored.has(object.metadata.name)) throw failed(409, 'AlreadyExists');
      return write(object) as never;
    },
    apply: async (_resource, object) => {
      enter('apply', object.metadata.name);
      const version = server.stored.get(object.metadata.name)?.metadata.resourceVersion;
      if (version !== object.metadata.resourceVersion) throw failed(409, 'Conflict');
      return write(object) as never;
    },
    serves: async () => server.served,
  };
}

function failed(status: number, reason: string, message = `${reason}!`): KubeError {
  return new KubeError({ status, reason, message });
}

function fakeApiServer(more: Partial<FakeApiServer> = {}): FakeApiServer {
  return { stored: new Map(), calls: [], failures: [], served: true, ...more };
}

/** Runs with a clock that advances with every sleep. */
function run(server: FakeApiServer, more: Partial<EnsureOptions> = {}): Promise<void> {
  let time = 0;
  return ensureCrds({
    client: clientOf(server),
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

const versions = (server: FakeApiServer) => both.map((name) => server.stored.get(name)?.metadata.annotations?.[versionAnnotation]);
const current = crdVersion;

describe('ensureCrds()', () => {
  it('never overwrites a CRD that a newer operator creates concurrently', async () => {
    const made = fakeApiServer();
    made.before = (call) => call === 'create' && store(made, both[0] as string, '1000.0.0');
    await run(made);
    assert.equal(versions(made)[0], '1000.0.0');

    const replaced = fakeApiServer();
    store(replaced, both[0] as string, '0.1.0');
    replaced.before = (call) => call === 'apply' && store(replaced, both[0] as string, '1000.0.0');
    await run(replaced);
    assert.equal(versions(replaced)[0], '1000.0.0');
  });

  it('waits until the CRD is established and served, and fails with a message after the timeout', async () => {
    const server = fakeApiServer();
    store(server, both[0] as string, current, { status: {} });
    await assert.rejects(run(server), /rooms.mediarooms.dev is not usable: the API server has not established it yet$/);
    assert.ok(server.calls.length > 100, 'it polled until its timeout');
    const unserved = fakeApiServer({ served: false });
    await assert.rejects(run(unserved), /does not serve it yet/);
    const taken = fakeApiServer();
    const status = { conditions: [{ type: 'NamesAccepted', status: 'False', message: '"mroom" is already in use' }] };
    store(taken, both[0] as string, current, { status });
    await assert.rejects(run(taken, { timeoutMs: 500 }), (error) => error instanceof CrdError && /"mroom" is already/.test(error.message));
    assert.equal(taken.calls.length, 3);
  });

  it('survives a starting API server that rejects requests until RBAC and admission are ready', async () => {
    const server = fakeApiServer();
    const refusals = 5;
    server.failures = [
      ...Array.from({ length: refusals }, () => ({ call: 'get' as const, error: failed(403, 'Forbidden', 'cannot get') })),
      { call: 'create', error: failed(403, 'Forbidden', 'definitions "rooms" is forbidden: not yet ready to handle request') },
    ];
    const client = clientOf(server);
    const serves = async () => {
      if (server.calls.length < refusals) throw failed(403, 'Forbidden', 'cannot get path');
      return server.served;
    };
    await run(server, { client: { ...client, serves } });
    assert.deepEqual(versions(server), [current, current]);
  });

  it('fails immediately if the API server rejects a CRD', async () => {
    const server = fakeApiServer({ failures: [{ call: 'create', error: failed(422, 'Invalid', 'spec.scope: is immutable') }] });
    await assert.rejects(run(server), /^CrdError: The API server rejected CRD rooms.mediarooms.dev: spec.scope: is immutable$/);
    assert.equal(server.calls.length, 2);
  });

  it('works without permission to read CRDs if the kinds exist, otherwise reports what to do', async () => {
    const forbidden = (times: number) =>
      Array.from({ length: times }, () => ({ call: 'get' as const, error: failed(403, 'Forbidden', 'cannot get') }));
    const server = fakeApiServer({ failures: forbidden(4) });
    await run(server);
    assert.deepEqual(
      server.calls,
      both.flatMap((name) => [`get ${name}`, `get ${name}`]),
    );
    const without = fakeApiServer({ failures: forbidden(1_000), served: false });
    await assert.rejects(
      run(without),
      /Room is not installed, and this operator has no permission to install it \(cannot get\): kubectl apply -f crds\//,
    );
  });

  it('changes nothing if applying is disabled', async () => {
    const server = fakeApiServer();
    for (const name of both) store(server, name, '0.1.0');
    await run(server, { apply: false });
    assert.deepEqual(versions(server), ['0.1.0', '0.1.0']);
    const none = fakeApiServer();
    await assert.rejects(run(none, { apply: false, timeoutMs: 0 }), /has no permission to install it: kubectl apply -f crds\//);
    assert.deepEqual(none.calls, [`get ${both[0]}`]);
    const old = fakeApiServer({ served: false });
    for (const name of both) store(old, name, '0.1.0');
    await assert.rejects(run(old, { apply: false, timeoutMs: 0 }), /does not serve mediarooms\.dev\/v1alpha2, .* kubectl apply -f crds\//);
    await assert.rejects(
      run(old, { dryRun: true }),
      /A dry run cannot read mediarooms\.dev\/v1alpha2, which the API server does not serve yet: kubectl apply -f crds\//,
    );
  });

  it('aborts with the signal', async () => {
    const server = fakeApiServer();
    store(server, both[0] as string, current, { status: {} });
    const ended = new AbortController();
    server.before = () => server.calls.length === 2 && ended.abort(new Error('the operator is shutting down'));
    await assert.rejects(run(server, { signal: ended.signal }), /the operator is shutting down/);
    assert.equal(server.calls.length, 3);
  });
});
