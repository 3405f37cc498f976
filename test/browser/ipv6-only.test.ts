// Network without IPv4: two nodes find each other by DNS, and browsers send and receive media, directly and through TURN.
import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connected, makeRoomOn, onMachines, startOn } from '../cluster/network-kit.ts';
import { startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { ClusterNetwork, type NetworkHost } from '../kit/network/cluster-network.ts';
import { startDnsServer } from '../kit/network/dns-server.ts';
import { runCommand } from '../kit/processes/command.ts';
import { tempFolder } from '../kit/temp-folder.ts';
import { blue, css, type Options, PagePeer, red } from './client-kit.ts';

/** A name of localhost, so that the page is a secure context. */
const pageHost = 'page.localhost';
const query = 'nodes.cluster.test';

/** A browser on that machine, with pages of this one. */
async function startBrowserOn(t: TestContext, { wrap }: NetworkHost, here: string) {
  const url = new URL(await servePlainPage(t, here));
  const wrapper = async (program: string) => {
    const path = join(tempFolder(t), 'run');
    await writeFile(path, `#!/bin/sh\nexec ${wrap.join(' ')} ${program} "$@"\n`);
    await chmod(path, 0o755);
    return path;
  };
  const browser = await startBrowser(t, { args: [`--host-resolver-rules=MAP ${pageHost} ${url.hostname}`], wrap: wrapper });
  return { browser, pageUrl: `http://${pageHost}:${url.port}/` };
}

/** Local and remote address of the candidates that transport the media of a peer. */
function usedAddresses({ page }: PagePeer): Promise<string[]> {
  return page.evaluate(async () => {
    const { send, recv } = (await kit.rooms.main?.room.getStats()) ?? {};
    return [send, recv].flatMap((report) =>
      [...(report?.values() ?? [])]
        .filter(({ type }) => type === 'transport')
        .flatMap(({ selectedCandidatePairId }) => {
          const pair = report?.get(selectedCandidatePairId);
          return [report?.get(pair.localCandidateId).address, report?.get(pair.remoteCandidateId).address];
        }),
    );
  });
}

test('nodes and browsers without IPv4 form a cluster and exchange media, directly and through TURN', onMachines, async (t) => {
  const network = await ClusterNetwork.make(t, 3, 6);
  const [one, two, visitor] = network.machines as [NetworkHost, NetworkHost, NetworkHost];
  const { stdout } = await runCommand([...visitor.wrap, 'ip', '-4', 'route']);
  assert.equal(stdout, '', 'no route of IPv4');
  const dns = await startDnsServer(t, { ip: network.here, port: 53 });
  await network.setFile('resolv.conf', `nameserver ${network.here}\n`);
  dns.add(query, one.ip, two.ip);
  // As in Kubernetes.
  const env = { SVC_WEBRTC_TURN_LISTEN_IP: '::', SVC_WEBRTC_TURN_ENABLED: 'true', SVC_DIST_STRATEGY_NAME: 'DNS', SVC_DIST_QUERY: query };
  const [owner, other] = await Promise.all([startOn(t, one, env), startOn(t, two, env)]);
  await connected([owner, other]);
  const roomId = await makeRoomOn(owner, other);
  const { browser, pageUrl } = await startBrowserOn(t, visitor, network.here);
  const enter = async (peerId: string, options: Options = {}) => {
    // The node without the room creates the peer, and the client connects to the owning node.
    const { status, body } = await other.api.post(`/room/${roomId}/peer`, { type: 'webrtc', peerId });
    assert.equal(status, 201);
    const { token, peer_websocket_url } = body.data;
    assert.ok(peer_websocket_url.startsWith(`[${owner.machine.ip}]:5002/`), peer_websocket_url);
    return PagePeer.join(await browser.newPage(pageUrl), peerId, { ...options, token, url: `ws://${peer_websocket_url}` });
  };
  const direct = await enter('direct');
  const relayed = await enter('relayed', { iceTransportPolicy: 'relay' });
  await Promise.all([direct.publish({ colour: css(red) }), relayed.publish({ colour: css(blue), tone: 1000 })]);
  await Promise.all([relayed.sees(direct, red), direct.sees(relayed, blue), direct.hears(relayed, 1000)]);
  const { ip } = owner.machine;
  assert.deepEqual(await usedAddresses(direct), [visitor.ip, ip, visitor.ip, ip]);
  assert.deepEqual(await usedAddresses(relayed), [ip, ip, ip, ip]);

  // The websocket of a peer through the other node, which proxies it.
  const proxied = await other.api.post(`/room/${roomId}/peer`, { type: 'webrtc', peerId: 'proxied' });
  const url = `ws://[${other.machine.ip}]:5002/socket/peer/websocket`;
  const third = await PagePeer.join(await browser.newPage(pageUrl), 'proxied', { token: proxied.body.data.token, url });
  await third.sees(direct, red);
});
