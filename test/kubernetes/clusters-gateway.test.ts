// Gateway: HTTPRoutes and TLSRoutes of a MediaCluster in a real API server, the resulting addresses, and their removal.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';
import { routeDefinition, tlsRouteDefinitions } from '../kit/kube/third-party-crds.ts';

type Route = {
  metadata: { name: string; ownerReferences: { kind: string; name: string }[] };
  spec: {
    parentRefs: object[];
    hostnames: string[];
    rules: { matches: { path: { type: string; value: string } }[]; backendRefs: { name: string; port: number }[] }[];
  };
};

const { server } = await startClusterOperator(
  { after },
  { definitions: [routeDefinition, ...tlsRouteDefinitions], operator: { httpRoutes: true, tlsRoutes: true, ingressRouteTcps: true } },
);

const drain = { timeoutSeconds: 1 };
const parentRefs = [{ name: 'public', namespace: 'gateways', sectionName: 'https' }];

/** Paths of all routes, with the Service of each. */
async function paths(user: MediaClusterUser): Promise<Record<string, string>> {
  const rules = (await user.list<Route>('httpRoutes')).flatMap(({ spec }) => spec.rules);
  return Object.fromEntries(
    rules.map(({ matches: [match], backendRefs: [backend] }) => [match?.path.value, `${backend?.name}:${backend?.port}`]),
  );
}

test('routes exist for the API and each index, and nodes announce addresses of the Gateway', async () => {
  const user = await MediaClusterUser.make(server, 'gateway', {
    replicas: 1,
    maxReplicas: 2,
    drain,
    gateway: { parentRefs, host: 'rooms.example' },
  });
  const [pod] = await user.settled('c-0');
  assert.deepEqual(await paths(user), { '/': 'c:8080', '/n/0': 'c-0:8080', '/n/1': 'c-1:8080', '/n/2': 'c-2:8080' });
  const route = await user.get<Route>('httpRoutes', 'c');
  assert.deepEqual([route.spec.parentRefs, route.spec.hostnames], [parentRefs, ['rooms.example']]);
  assert.deepEqual(
    route.metadata.ownerReferences.map(({ kind, name }) => `${kind} ${name}`),
    ['MediaCluster c'],
  );
  const variables = Object.fromEntries((pod?.spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
  assert.equal(variables.SVC_HOST, 'rooms.example/n/0');
  assert.equal(variables.SVC_TRUST_PROXY, '1');
  assert.equal((await user.cluster()).status?.url, 'https://rooms.example');
});

test('paths beyond the limit of a route are split into several routes, which are deleted when not needed', async () => {
  const user = await MediaClusterUser.make(server, 'many', {
    replicas: 0,
    maxReplicas: 40,
    gateway: { parentRefs, host: 'rooms.example', tls: false, port: 8000 },
  });
  await user.until('all routes exist', async () => (await user.names('httpRoutes')).length === 3);
  assert.deepEqual(await user.names('httpRoutes'), ['c', 'c-routes-1', 'c-routes-2']);
  const all = await paths(user);
  assert.equal(Object.keys(all).length, 42);
  assert.equal(all['/n/40'], 'c-40:8080');
  await user.until('its address is in the status', async () => (await user.cluster()).status?.url === 'http://rooms.example:8000');
  assert.equal((await user.condition('Degraded')).status, 'False');
  await user.apply({ replicas: 0, maxReplicas: 3, gateway: { parentRefs, host: 'rooms.example' } });
  await user.until('one is left', async () => (await user.names('httpRoutes')).join() === 'c');
  await user.apply({ replicas: 0, ingress: { host: 'rooms.example' } });
  await user.until('an Ingress replaces it', async () => (await user.names('httpRoutes')).length === 0);
  assert.deepEqual(await user.names('ingresses'), ['c']);
});

test('TURN over TLS has a TLSRoute for each index, or one IngressRouteTCP, which are deleted when not needed', async () => {
  const turn = { enabled: true, tlsSecretName: 'turn-tls' };
  const spec = (way: object) => ({ replicas: 0, maxReplicas: 1, turn: { ...turn, tlsRoutes: { host: 'turn.example', ...way } } });
  const user = await MediaClusterUser.make(server, 'relayed', spec({ gateway: { parentRefs }, annotations: { 'example.com/a': 'b' } }));
  await user.until('a route for each index exists', async () => (await user.names('tlsRoutes')).join() === 'c-0-turn,c-1-turn');
  const route = await user.get<{ metadata: { annotations: object }; spec: object }>('tlsRoutes', 'c-1-turn');
  assert.deepEqual(route.metadata.annotations, { 'example.com/a': 'b' });
  assert.deepEqual(route.spec, {
    parentRefs,
    hostnames: ['c-1.turn.example'],
    rules: [{ backendRefs: [{ name: 'c-1-turn', port: 443 }] }],
  });
  await user.apply(spec({ proxyProtocol: true, traefik: { entryPoints: ['websecure'] } }));
  await user.until('they are replaced', async () => (await user.names('tlsRoutes')).length === 0);
  const { spec: routes } = await user.get<{ spec: object }>('ingressRouteTcps', 'c-turn');
  assert.deepEqual(routes, {
    entryPoints: ['websecure'],
    routes: [0, 1].map((index) => ({
      match: `HostSNI(\`c-${index}.turn.example\`)`,
      services: [{ name: `c-${index}-turn`, port: 443, proxyProtocol: { version: 2 } }],
    })),
    tls: { passthrough: true },
  });
  await user.apply({ replicas: 0, turn });
  await user.until('none is left', async () => (await user.names('ingressRouteTcps')).length === 0);
});
