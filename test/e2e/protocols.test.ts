// Other protocols: SIP calls with a registrar and a phone outside of the pod network; LiveKit's client through the Ingress, and an agent of
// its framework in a pod.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { DisconnectReason } from '@livekit/protocol';
import { parse } from 'yaml';
import { decodeG711 } from '../../node/components/sip/audio/g711.ts';
import { agentImageName, ensureAgentImage } from '../../tools/livekit/agent-image.mjs';
import { blue, css, red } from '../browser/client-kit.ts';
import { LiveKitPeer } from '../browser/livekit-kit.ts';
import { accessKey } from '../kit/access-tokens.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { Child } from '../kit/kube/child.ts';
import type { KubeJson } from '../kit/kube/read-objects.ts';
import { decibels, levelOf, steadyLevelOf } from '../kit/media/tones.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { account, Kamailio } from '../kit/sip/kamailio.ts';
import { makeVoice } from '../kit/sip/rtp-phone.ts';
import * as far from '../kit/sip/sipp.ts';
import { host, Installed, minValues, settle } from './installed.ts';
import { tell } from './timings.ts';

const installed = await Installed.prepare({ after }, { page: 'livekit-page.ts' });
/** As in examples/kubernetes/livekit-agent.yaml. */
const release = 'media';
const accessKeys = 'media-access-keys';
const agentName = 'tones';
const { hub, server, nodes } = installed.cluster;
/** Address and network namespace of the external phone. */
const place = { address: new URL(server.url).hostname, wrap: hub.wrapNetwork, pid: hub.pid };
/** Kubernetes node with the image of the agent. */
const agentHost = nodes.at(-1);
const ports = { calls: 3, components: 2 };
// The external network of the test uses private addresses.
const config = { componentsUsed: ['sip'], allowPrivateAddresses: true };
const peerTone = 440;
const phoneTone = 1000;
/** That of test/agents/agent.py, while it hears the tone of the peer. */
const agentTone = 660;
const rate = 8000;
await settle(installed, async () => {
  // As in most clusters, pods connect from the address of their Kubernetes node.
  const rules = `type nat hook postrouting priority 100; policy accept;\nip daddr ${place.address} meta l4proto udp oifname "eth0" masquerade`;
  const table = `table ip outside {\nchain post {\n${rules}\n}\n}\n`;
  for (const node of nodes) await node.machine.run(['nft', '-f', '-'], { input: table });
  const metadata = { name: 'phone', labels: { 'mediarooms.dev/room-secret': 'true' } };
  const password = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { password: account.password } };
  await installed.apply(password);
  const keys = { apiVersion: 'v1', kind: 'Secret', metadata: { name: accessKeys }, stringData: { [accessKey.id]: accessKey.secret } };
  await installed.apply(keys);
  const livekit = { livekit: { enabled: true }, secrets: { accessKeys: { name: accessKeys } } };
  const values = Object.entries({ sip: ports, config, ...livekit }).flatMap(([name, value]) => [
    '--set-json',
    `mediaCluster.spec.${name}=${JSON.stringify(value)}`,
  ]);
  await installed.install(release, [...minValues, ...values]);
  await Promise.all([installed.available(release), agentHost?.importImage(await ensureAgentImage())]);
  // It starts during the calls.
  await installed.apply(agentDeployment());
  await installed.agreeOn(release, 2);
});

/** The example of a Deployment of agents, with the agent of the tests. */
function agentDeployment(): object {
  const example: KubeJson = parse(readFileSync(join(import.meta.dirname, '../../examples/kubernetes/livekit-agent.yaml'), 'utf8'));
  const { spec } = example.spec.template;
  const [container] = spec.containers;
  example.spec.replicas = 1;
  Object.assign(spec, { nodeSelector: { 'kubernetes.io/hostname': agentHost?.name }, terminationGracePeriodSeconds: 1 });
  Object.assign(container, { image: agentImageName, resources: {} });
  container.env.push({ name: 'LIVEKIT_AGENT_NAME', value: agentName });
  return example;
}

/** Audio of the external phone; received audio is in a file. */
async function openPhone(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'mediarooms-phone-'));
  const port = await freePort();
  const [said, heard] = [join(folder, 'said'), join(folder, 'heard')];
  await Promise.all([writeFile(said, Buffer.concat(await makeVoice('PCMA', phoneTone, 3))), writeFile(heard, '')]);
  const program = join(import.meta.dirname, '../kit/sip/remote-phone-main.ts');
  const child = new Child([process.execPath, program, place.address, String(port), said, heard], {
    log: join(folder, 'log'),
    wrap: place.wrap,
  });
  t.after(async () => {
    await child.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    port,
    /** Resolves after a second in which only the peer was audible. */
    hears: () =>
      installed.cluster.until('the phone receives audio of the peer', async () => {
        const last = decodeG711('PCMA', (await readFile(heard)).subarray(-rate));
        const peerLevel = steadyLevelOf(last, peerTone, rate);
        if (last.length < rate || peerLevel < 0.05) return undefined;
        return { own: decibels(levelOf(last, phoneTone, rate) / peerLevel) };
      }),
  };
}

test('outgoing and incoming calls of an external phone have audio in both directions through the ports of the pod', {
  timeout: 280_000,
}, async (t) => {
  const farEndPort = await freePort();
  const kamailio = await Kamailio.start(t, { farEndPort, place });
  const options = {
    registrarAddress: `sip:${place.address}:${kamailio.port};transport=udp`,
    username: account.username,
    passwordSecretRef: { name: 'phone', key: 'password' },
    answerIncoming: true,
  };
  const spec = { peers: [{ name: 'anna' }], components: [{ name: 'phone', sip: options }] };
  const [browser, room] = await Promise.all([installed.browser(t), installed.room('calls', spec)]);
  assert.doesNotMatch(JSON.stringify(room), new RegExp(account.password));
  const component = await installed.cluster.until('the SIP component is registered', async () => {
    const { body } = await installed.rest(release, 'GET', '/room/calls');
    const found = body.data.components.find(({ type }: KubeJson) => type === 'sip');
    return found?.properties.registered === true ? found : undefined;
  });
  const anna = await installed.enter(installed.openPage(browser), 'calls', 'anna');
  await anna.publish({ tone: peerTone });

  const out = await openPhone(t);
  const sdp = far.audioSdp(out.port, place.address);
  const steps = [far.expectInvite, far.answer('200 OK', { sdp: sdp }), far.expectAck, far.expectBye];
  const callee = await far.Sipp.answer(t, steps, { port: farEndPort, place, timeout: 200 });
  const path = `/sip/calls/${component.id}/call`;
  const { status, body } = await installed.rest(release, 'POST', path, { phoneNumber: '+49123456' });
  assert.equal(status, 201, JSON.stringify(body));
  await anna.hears(component, phoneTone);
  assert.ok((await out.hears()).own < -30);
  assert.equal((await installed.rest(release, 'DELETE', path)).status, 204);
  await callee.done();
  const pod = await installed.get('pod', room.status.node);
  const block = pod.spec.containers[0].ports
    .filter(({ protocol }: KubeJson) => protocol === 'UDP')
    .map((each: KubeJson) => each.containerPort);
  const [signalling, calls] = [block.slice(-5, -3), block.slice(-3)];
  const [, contactAddress, contactPort] = /^Contact: <sip:room@([\d.]+):(\d+)/m.exec(callee.messages) ?? [];
  assert.equal(contactAddress, pod.status.hostIP);
  assert.ok(signalling.includes(Number(contactPort)), `${contactPort} of ${signalling}`);
  const offered = [...callee.messages.matchAll(/^m=audio (\d+)/gm)].map(([, port]) => Number(port)).filter((port) => port !== out.port);
  assert.ok(offered.length > 0 && offered.every((port) => calls.includes(port)), `${offered} of ${calls}`);
  assert.match(callee.messages, new RegExp(`^c=IN IP4 ${pod.status.hostIP}\\r?$`, 'm'));

  const near = await openPhone(t);
  const calling = [
    far.invite('room', { sdp: far.audioSdp(near.port, place.address) }),
    far.maybe(100),
    far.expectOk,
    far.further('ACK', 1),
    far.expectBye,
  ];
  const target = `${place.address}:${kamailio.port}`;
  const caller = await far.Sipp.run(t, calling, { port: farEndPort, place, target, timeout: 200 });
  const [call] = await installed.cluster.until('the incoming call exists', async () => {
    const { properties } = (await installed.rest(release, 'GET', `/room/calls/component/${component.id}`)).body.data;
    return properties.calls[0]?.direction === 'incoming' ? properties.calls : undefined;
  });
  await anna.hears(component, phoneTone);
  assert.ok((await near.hears()).own < -30);
  assert.equal((await installed.rest(release, 'DELETE', `${path}/${call.id}`)).status, 204);
  await caller.done();
  await installed.kubectl('delete', 'room', 'calls', '--timeout=60s');
});

test("LiveKit's client joins through the Ingress, next to a peer of the client library, and an agent in a pod answers it", async (t) => {
  const [browser] = await Promise.all([installed.browser(t), installed.room('livekit', { peers: [{ name: 'anna' }] })]);
  const [page, anna] = await Promise.all([installed.openPage(browser), installed.enter(installed.openPage(browser), 'livekit', 'anna')]);
  const claims = { roomConfig: { agents: [{ agentName }] } };
  const ada = await LiveKitPeer.enter(page, { url: `https://${host}`, token: { identity: 'ada', room: 'livekit', claims } });
  const size = { width: 320, height: 180 };
  await Promise.all([anna.publish({ ...size, colour: css(blue) }), ada.publish({ ...size, colour: css(red) })]);
  const { peers } = (await installed.rest(release, 'GET', '/room/livekit')).body.data;
  // The operator gives each declared peer an externalId, which is the identity for LiveKit's clients.
  const identity = peers.find((peer: KubeJson) => peer.id === 'anna').externalId;
  await Promise.all([ada.sees({ id: identity }, blue), anna.sees(ada, red)]);
  const id = await eventuallyIn(
    page,
    () => [...(livekit.rooms.main?.room.remoteParticipants.values() ?? [])].find(({ isAgent }) => isAgent)?.identity,
    undefined,
    120_000,
  );
  await ada.hears({ id }, 0);
  const spoke = performance.now();
  await ada.publish({ tone: peerTone });
  await ada.hears({ id }, agentTone);
  tell("audio of LiveKit's client to the answer of an agent in a pod", performance.now() - spoke);
  await Promise.all([anna.hears(ada, peerTone), anna.hears({ id }, agentTone)]);
  await installed.kubectl('delete', 'room', 'livekit', '--timeout=60s');
  await ada.waitForNote('reason', DisconnectReason.ROOM_DELETED);
});
