// Examples of examples/kubernetes: applied, awaited, inspected, joined, changed and deleted with kubectl only.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { apiClient } from '../kit/answers/api-client.ts';
import { ClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { applyDefinitions } from '../kit/kube/media-clusters.ts';
import { startOperator } from '../kit/kube/operator-process.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { waitForEvent } from '../kit/kube/read-objects.ts';
import { oggFile, opusPacket } from '../kit/media/ogg-file.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { examples } from './manifests.ts';

const server = await startControlPlane({ after });
await applyDefinitions(server);
const runner = await startPodRunner(server);
const operator = startOperator({ after }, server);
const stage = new ClusterFixture(server, runner, operator);

async function kubectl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await server.kubectl(args);
  assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}\n${operator.output.slice(-2_000)}`);
  return stdout;
}

async function secret(name: string): Promise<Record<string, string>> {
  const { data } = JSON.parse(await kubectl('get', 'secret', name, '-o', 'json')) as { data: Record<string, string> };
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

async function api() {
  return apiClient(`http://${runner.pod('media-0').status?.podIP}:8080`, (await secret('media-api-tokens')).admin ?? '');
}

describe('The Kubernetes examples', () => {
  it('create a MediaCluster that is Available', async () => {
    await kubectl('apply', '-f', join(examples, 'mediacluster.yaml'));
    await kubectl('wait', '--for=condition=Available', '--timeout=55s', 'mcl/media');
    const { metadata } = await runner.waitForPod('media-0');
    // As a volume of podTemplate would provide it.
    const sources = join(server.dir, 'pods', metadata.uid ?? '', 'volumes/resources/file_component_sources');
    mkdirSync(sources, { recursive: true });
    // Ten minutes long, because a finished file is not shown any more.
    const packets = Array.from({ length: 30_000 }, (_, index) => opusPacket(50, index));
    writeFileSync(join(sources, 'welcome.ogg'), oggFile(packets));
  });

  it('create Rooms that are Ready with everything declared', async () => {
    await kubectl('apply', '-f', join(examples, 'room.yaml'), '-f', join(examples, 'room-with-peers.yaml'));
    await kubectl('wait', '--for=condition=Ready', '--timeout=55s', 'mroom/standup', 'mroom/webinar');
    const { body } = await (await api()).get('/room/webinar-2026');
    const { config, peers, components } = body.data;
    assert.deepEqual(config, {
      roomId: 'webinar-2026',
      maxPeers: 50,
      videoCodec: 'h264',
      webhookUrl: 'https://app.example.com/hooks/rooms',
      peerlessPurgeTimeout: null,
      peerDisconnectedTimeout: 60,
    });
    const [audience, speaker] = peers.sort((one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1));
    assert.deepEqual([speaker.id, speaker.metadata, audience.id], ['speaker', { displayName: 'Ann' }, 'audience']);
    assert.deepEqual(audience.permissions, { publish: [], subscribe: true, data: false });
    assert.deepEqual([components.length, components[0].type, components[0].properties.filePath], [1, 'file', 'welcome.ogg']);
  });

  it('are listed by kubectl get', async () => {
    const cells = async (...what: string[]) => (await kubectl('get', ...what, '-o', 'wide', '--no-headers')).trim().split(/\s{2,}/);
    const room = await cells('mroom', 'webinar');
    const { podIP } = runner.pod('media-0').status ?? {};
    assert.deepEqual(room.slice(0, 5), ['webinar', 'Ready', 'media-0', '0', `${podIP}:8080`]);
    assert.deepEqual(room.slice(6), ['webinar-2026', '1/1', 'Ready']);
    const cluster = await cells('mcl', 'media');
    assert.deepEqual(cluster.slice(0, 3), ['media', '1', '1']);
    assert.equal(cluster[4], 'True');
    const names = (await kubectl('get', 'media', '-o', 'name')).trim().split('\n').sort();
    assert.deepEqual(names, ['mediacluster.mediarooms.dev/media', 'room.mediarooms.dev/standup', 'room.mediarooms.dev/webinar']);
  });

  it('are described by kubectl with conditions and Events', async () => {
    await waitForEvent(stage.server, 'webinar', 'Ready');
    const text = await kubectl('describe', 'mroom', 'webinar');
    assert.match(text, /Type:\s+Ready\n/);
    assert.match(text, /Events:[\s\S]*Normal/);
    assert.match(text, /Peers Secret Name:\s+webinar-peers/);
  });

  it('provide each peer with a token and a URL to join', async () => {
    const access = await secret('webinar-peers');
    assert.deepEqual(Object.keys(access).sort(), ['audience.token', 'audience.url', 'speaker.token', 'speaker.url']);
    const socket = await PeerSocket.enter(access['speaker.url'] ?? '', access['speaker.token'] ?? '');
    assert.equal(socket.welcome.ok, true);
    await kubectl('wait', '--for=jsonpath={.status.peers.connected}=1', '--timeout=55s', 'mroom/webinar');
    socket.webSocket.close();
    await socket.closed;
  });

  it('can be changed at runtime, and report when the change is effective', async () => {
    await kubectl('patch', 'mroom', 'webinar', '--type=merge', '-p', '{"spec":{"maxPeers":60}}');
    await kubectl('wait', '--for=jsonpath={.status.observedGeneration}=2', '--timeout=55s', 'mroom/webinar');
    assert.equal((await (await api()).get('/room/webinar-2026')).body.data.config.maxPeers, 60);
  });

  it('are deleted by kubectl delete with all dependent objects', async () => {
    const owners = await kubectl('get', 'secret', 'webinar-peers', '-o', 'jsonpath={.metadata.ownerReferences[*].kind}');
    // The garbage collector deletes it; it discovers a new kind after half a minute.
    assert.equal(owners, 'Room');
    await kubectl('delete', '--timeout=55s', '-f', join(examples, 'room.yaml'), '-f', join(examples, 'room-with-peers.yaml'));
    assert.deepEqual((await (await api()).get('/room')).body.data, []);
    assert.equal(await kubectl('get', 'mroom', '-o', 'name'), '');
  });
});
