// TURN of a MediaCluster: a server next to each node on exposed ports of the pod, over TLS with the certificate of a Secret.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import { basePort, LiveRoom, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';
import { makeCertificate } from '../kit/network/certificates.ts';

const { server, runner } = await startClusterOperator({ after });

test('peers get the TURN server of their pod, which responds, over TLS with the certificate of the Secret', async () => {
  const spec = { replicas: 2, drain: { timeoutSeconds: 1 }, turn: { enabled: true, tlsSecretName: 'turn-tls', tlsHost: '*.turn.example' } };
  const user = await MediaClusterUser.make(server, 'turn', { ...spec, replicas: 0 });
  const { certificate, key } = await makeCertificate(server.dir, 'turn', ['DNS:*.turn.example']);
  const stringData = { 'tls.crt': readFileSync(certificate, 'utf8'), 'tls.key': readFileSync(key, 'utf8') };
  await server.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { namespace: 'turn', name: 'turn-tls' },
    stringData,
  });
  await user.apply(spec);
  const pods = await user.settled('c-0', 'c-1');
  for (const [index, pod] of pods.entries()) {
    const host = runner.hosts.find(({ name }) => name === pod.spec.nodeName)?.externalIP ?? '';
    const [port, tlsPort] = [basePort(pod) + 1, basePort(pod) + 2];
    const room = await LiveRoom.open(user, pod, `relayed-${index}`);
    const [{ urls } = { urls: [] }] = (room.socket.frames[0] as { data: { iceServers: { urls: string[] }[] } }).data.iceServers;
    const name = `${host.replaceAll('.', '-')}.turn.example`;
    assert.deepEqual(urls, [
      `turn:${host}:${port}?transport=udp`,
      `turn:${host}:${port}?transport=tcp`,
      `turns:${name}:${tlsPort}?transport=tcp`,
    ]);
    const socket = connect({ host, port: tlsPort, servername: name, ca: stringData['tls.crt'] });
    await once(socket, 'secureConnect');
    assert.equal(socket.authorized, true);
    socket.destroy();
    await room.leave();
  }
});

test('with routes, peers get the name of their pod at port 443, whose Service leads to its TURN server', async () => {
  const user = new MediaClusterUser(server, 'turn');
  const before = (await user.pods()).map(({ metadata }) => metadata.uid);
  const tlsRoutes = { host: 'turn.example', traefik: {} };
  await user.apply({ replicas: 1, drain: { timeoutSeconds: 1 }, turn: { enabled: true, tlsSecretName: 'turn-tls', tlsRoutes } });
  await user.until('the rollout is complete', async () => (await user.pods()).every(({ metadata }) => !before.includes(metadata.uid)));
  await user.until('one node is ready', () => user.rests());
  const [pod] = await user.pods();
  assert.ok(pod);
  const room = await LiveRoom.open(user, pod, 'routed');
  const [{ urls } = { urls: [] }] = (room.socket.frames[0] as { data: { iceServers: { urls: string[] }[] } }).data.iceServers;
  assert.equal(urls.at(-1), `turns:${pod.metadata.name}.turn.example:443?transport=tcp`);
  await room.leave();
  const { spec } = await user.get<{ spec: { ports: { port: number; targetPort: number }[] } }>('services', `${pod.metadata.name}-turn`);
  assert.deepEqual(
    spec.ports.map(({ port, targetPort }) => [port, targetPort]),
    [[443, basePort(pod) + 2]],
  );
  // No controller of these routes is installed.
  await user.until('the condition says so', async () =>
    /IngressRouteTCPs of Traefik/.test((await user.condition('Degraded')).message ?? ''),
  );
});

test('removing the TURN certificate causes a rollout to pods with one port less', async () => {
  const user = new MediaClusterUser(server, 'turn');
  const [before] = await user.pods();
  await user.apply({ replicas: 1, drain: { timeoutSeconds: 1 }, turn: { enabled: true } });
  await user.until('the rollout is complete', async () =>
    (await user.pods()).every(({ metadata }) => metadata.uid !== before?.metadata.uid),
  );
  await user.until('one node is ready', () => user.rests());
  const [pod] = await user.pods();
  const variables = Object.fromEntries((pod?.spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
  assert.equal(variables.SVC_WEBRTC_TURN_PORT, String(Number(variables.SVC_WEBRTC_BASE_PORT) + 1));
  assert.equal(variables.SVC_WEBRTC_TURN_TLS_PORT, undefined);
});
