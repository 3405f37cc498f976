// TURN of a MediaCluster: a server next to each node on exposed ports of the pod, over TLS with the certificate of a Secret.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { ClusterOperator } from '../kit/kube/controllers/cluster-operator.ts';
import { applyDefinitions, basePort, LiveRoom, MediaClusterUser } from '../kit/kube/media-clusters.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';

const run = promisify(execFile);
const server = await startControlPlane({ after });
await applyDefinitions(server);
const runner = await startPodRunner(server);
await ClusterOperator.start(server);

async function certificate(name: string): Promise<{ 'tls.key': string; 'tls.crt': string }> {
  const [key, crt] = [join(server.dir, 'tls.key'), join(server.dir, 'tls.crt')];
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', `/CN=${name}`];
  await run('openssl', [...made, '-addext', `subjectAltName=DNS:${name}`, '-keyout', key, '-out', crt]);
  return { 'tls.key': readFileSync(key, 'utf8'), 'tls.crt': readFileSync(crt, 'utf8') };
}

test('peers get the TURN server of their pod, which responds, over TLS with the certificate of the Secret', async () => {
  const spec = { replicas: 2, drain: { timeoutSeconds: 1 }, turn: { enabled: true, tlsSecretName: 'turn-tls', tlsHost: '*.turn.example' } };
  const user = await MediaClusterUser.make(server, 'turn', { ...spec, replicas: 0 });
  const stringData = await certificate('*.turn.example');
  await user.send({
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

test('removing the TURN certificate causes a rollout to pods with one port less', async () => {
  const user = MediaClusterUser.of(server, 'turn');
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
