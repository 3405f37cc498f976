// TURN through the Ingress: a browser whose network lets only TCP port 443 of the Ingress through, with nftables, and two nodes behind it.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { eventually } from '../kit/eventually.ts';
import { type CertificateFiles, makeAuthority, makeCertificate } from '../kit/network/certificates.ts';
import { freePorts } from '../kit/network/free-ports.ts';
import { makeNamespace, mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { runCommand } from '../kit/processes/command.ts';
import { type StartedNode, startNode } from '../kit/processes/start-node.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';
import { tempFolder } from '../kit/temp-folder.ts';
import { blue, css, PagePeer, red } from './client-kit.ts';
import { type SniRoute, startSniIngress } from './ingress-kit.ts';

const options = { timeout: 180_000, skip: mayMakeNamespaces ? false : 'network namespaces need root' };
/** Issue 25: media in both directions after a peer joins. */
const goal = 3_000;
/** Addresses of the pods, which the network of the browser cannot reach. */
const pods = { 'c-0': '127.0.0.2', 'c-1': '127.0.0.3' } as const;
/** Its proxy sends PROXY protocol headers. */
const withHeaders = 'c-0';

/** Nothing passes in the network of the browser but TCP to port 443 of the Ingress. */
const firewall = (ingress: string) => `table inet only443 {
  chain out {
    type filter hook output priority 0; policy drop;
    oifname "lo" accept
    ip daddr ${ingress} tcp dport 443 accept
  }
  chain in {
    type filter hook input priority 0; policy drop;
    iifname "lo" accept
    ip saddr ${ingress} tcp sport 443 accept
  }
}`;

type Pod = { node: StartedNode; name: string; address: string; turnPort: number; tlsPort: number; files: CertificateFiles };

async function startPod(t: TestContext, name: keyof typeof pods, authority: CertificateFiles): Promise<Pod> {
  const address = pods[name];
  const [port = 0, turnPort = 0, tlsPort = 0] = await freePorts(3, address);
  const files = await makeCertificate(tempFolder(t), 'turn', ['DNS:*.turn.rooms.test'], authority);
  const node = await startNode(t, {
    SVC_IP: address,
    SVC_PORT: String(port),
    SVC_WEBRTC_TURN_LISTEN_IP: address,
    SVC_WEBRTC_TURN_ENABLED: 'true',
    SVC_WEBRTC_TURN_PORT: String(turnPort),
    SVC_WEBRTC_TURN_TLS_PORT: String(tlsPort),
    SVC_WEBRTC_TURN_TLS_PUBLIC_PORT: '443',
    SVC_WEBRTC_TURN_TLS_HOST: `${name}.turn.rooms.test`,
    SVC_WEBRTC_TURN_TLS_PROXY_PROTOCOL: String(name === withHeaders),
    SVC_WEBRTC_TURN_TLS_KEY_PATH: files.key,
    SVC_WEBRTC_TURN_TLS_CERT_PATH: files.certificate,
  });
  const [server] = node.node.parts.turn?.iceServers('user') ?? [];
  assert.equal(server?.urls.at(-1), `turns:${name}.turn.rooms.test:443?transport=tcp`);
  return { node, name, address, turnPort, tlsPort, files };
}

async function startFixture(t: TestContext) {
  const machine = await makeNamespace(t);
  await runCommand(['ip', 'netns', 'exec', machine.name, 'nft', '-f', '-'], { input: firewall(machine.here) });
  const folder = tempFolder(t);
  const authority = await makeAuthority(folder);
  const all = [await startPod(t, 'c-0', authority), await startPod(t, 'c-1', authority)];
  const page = new URL(await servePlainPage(t));
  const routes = new Map<string, SniRoute>([['page.rooms.test', { host: page.hostname, port: Number(page.port), endsTls: true }]]);
  for (const { name, address, node, tlsPort } of all) {
    routes.set(`${name}.rooms.test`, { host: address, port: node.port, endsTls: true });
    routes.set(`${name}.turn.rooms.test`, { host: address, port: tlsPort, ...(name === withHeaders && { proxyProtocol: 2 }) });
  }
  const place = { address: machine.here, port: 443 };
  const ingress = await startSniIngress(t, place, routes, await makeCertificate(folder, 'rooms', ['DNS:*.rooms.test'], authority));
  const args = ['--ignore-certificate-errors', `--host-resolver-rules=MAP *.rooms.test ${machine.here}`];
  const browser = await startBrowser(t, { args, wrap: machine.wrap });
  return { machine, folder, authority, pods: all, ingress, browser };
}

type Fixture = Awaited<ReturnType<typeof startFixture>>;

async function enter({ browser }: Fixture, { node, name }: Pod, peerId: string): Promise<PagePeer> {
  const { status, body } = await node.api.post('/room/meeting/peer', { type: 'webrtc', options: {}, peerId });
  assert.equal(status, 201);
  const page = await browser.newPage('https://page.rooms.test/');
  return PagePeer.join(page, peerId, { token: body.data.token, url: `wss://${name}.rooms.test/socket/peer/websocket` });
}

/** Kinds and relay protocols of the candidates that transport the media of a peer. */
function usedPaths({ page }: PagePeer): Promise<string[]> {
  return page.evaluate(async () => {
    const { send, recv } = (await kit.rooms.main?.room.getStats()) ?? {};
    const used = [send, recv].flatMap((report) =>
      [...(report?.values() ?? [])]
        .filter(({ type }) => type === 'transport')
        .map(({ selectedCandidatePairId }) => report?.get(report.get(selectedCandidatePairId).localCandidateId)),
    );
    return used.map(({ candidateType, relayProtocol }) => `${candidateType} ${relayProtocol}`);
  });
}

test(
  'through TCP 443 of the Ingress only, peers on two nodes see and hear each other, also while the certificate is renewed',
  options,
  async (t) => {
    const fixture = await startFixture(t);
    const calls = await Promise.all(
      fixture.pods.map(async (pod) => {
        await pod.node.api.post('/room', { roomId: 'meeting' });
        return { pod, first: await enter(fixture, pod, 'first'), second: await enter(fixture, pod, 'second') };
      }),
    );

    for (const { name } of fixture.pods)
      await eventually(`${name} has relays of both peers before they receive`, () => {
        return (fixture.ingress.connections.get(`${name}.turn.rooms.test`) ?? 0) >= 2;
      });
    for (const { pod, first, second } of calls) {
      const took = stopwatch();
      await Promise.all([first.publish({ colour: css(red) }), second.publish({ colour: css(blue), tone: 1000 })]);
      await Promise.all([second.sees(first, red), first.sees(second, blue), first.hears(second, 1000)]);
      t.diagnostic(`media in both directions of ${pod.name} after ${Math.round(took())} ms`);
      assertPrompt(`media on ${pod.name}`, took(), { promised: goal, bound: 10 * goal });
      for (const peer of [first, second]) assert.deepEqual(await usedPaths(peer), ['relay tls', 'relay tls']);
    }

    await t.test('a renewed certificate is used for new connections, and no connection ends', async (s) => {
      const before = new Map(fixture.ingress.connections);
      const peers = calls.flatMap(({ first, second }) => [first, second]);
      for (const { page } of peers) await page.evaluate(() => kit.rooms.main?.gaps.clear());
      const renewed = await makeCertificate(fixture.folder, 'renewed', ['DNS:*.turn.rooms.test'], fixture.authority);
      for (const { files } of fixture.pods) {
        copyFileSync(renewed.key, files.key);
        copyFileSync(renewed.certificate, files.certificate);
      }
      const wanted = fingerprintOf(renewed);
      const asked = new Map<string, number>();
      for (const { name } of fixture.pods)
        await eventually(`${name} has the renewed certificate`, async () => {
          asked.set(name, (asked.get(name) ?? 0) + 1);
          return (await servedFingerprint(fixture, `${name}.turn.rooms.test`)) === wanted;
        });
      for (const { pod, first, second } of calls) {
        await Promise.all([second.sees(first, red), first.sees(second, blue), first.hears(second, 1000)]);
        const host = `${pod.name}.turn.rooms.test`;
        assert.equal(fixture.ingress.connections.get(host), (before.get(host) ?? 0) + (asked.get(pod.name) ?? 0));
      }
      for (const { page } of peers) {
        const gaps = await page.evaluate(() => [...(kit.rooms.main?.gaps.values() ?? [])]);
        s.diagnostic(`the longest time between two frames was ${Math.round(Math.max(...gaps))} ms`);
        assertPrompt('the next frame', Math.max(...gaps), { promised: 1_000 });
      }
      const [{ pod, first }] = calls as [(typeof calls)[0]];
      const third = await enter(fixture, pod, 'third');
      await third.sees(first, red);
      assert.ok((await usedPaths(third)).includes('relay tls'));
    });

    await t.test('the relay of a node reaches neither the other node nor the rest of the network', async () => {
      const [own] = fixture.pods as [Pod];
      const [server] = own.node.node.parts.turn?.iceServers('user') ?? [];
      assert.ok(server);
      for (const peer of [pods['c-1'], '127.0.0.1', fixture.machine.here, fixture.machine.there]) {
        const client = ['turnutils_uclient', '-v', '-n', '1', '-e', peer, '-u', server.username, '-w', server.credential];
        const said = await runCommand([...client, '-p', String(own.turnPort), own.address], { mayFail: true });
        assert.match(said.stdout + said.stderr, /error 403/, peer);
      }
    });
  },
);

function fingerprintOf({ certificate }: CertificateFiles): string {
  return new X509Certificate(readFileSync(certificate)).fingerprint256;
}

/** Of the certificate at this name, which must be valid. */
async function servedFingerprint({ machine, authority }: Fixture, servername: string): Promise<string> {
  const socket = connect({ host: machine.here, port: 443, servername, ca: readFileSync(authority.certificate) });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}
