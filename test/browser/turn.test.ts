// TURN server of a node: browsers that use relays only, with a real coturn.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { freePort, freePorts } from '../kit/network/free-ports.ts';
import { runCommand } from '../kit/processes/command.ts';
import { tempFolder } from '../kit/temp-folder.ts';
import { blue, css, enter, red, startClientFixture } from './client-kit.ts';

async function startTurnFixture(t: TestContext) {
  const port = await freePort();
  return { ...(await startClientFixture(t, { SVC_WEBRTC_TURN_ENABLED: 'true', SVC_WEBRTC_TURN_PORT: String(port) })), port };
}

test('two browsers with relay-only ICE see and hear each other', async (t) => {
  const fixture = await startTurnFixture(t);
  const relay = { iceTransportPolicy: 'relay' } as const;
  const [first, second] = await Promise.all([enter(fixture, 'first', relay), enter(fixture, 'second', relay)]);
  await Promise.all([first.publish({ colour: css(red) }), second.publish({ colour: css(blue), tone: 1000 })]);
  await Promise.all([second.sees(first, red), first.sees(second, blue), first.hears(second, 1000)]);
  const types = await first.page.evaluate(async () => {
    const { send, recv } = (await kit.rooms.main?.room.getStats()) ?? {};
    const reports = [...(send?.values() ?? []), ...(recv?.values() ?? [])];
    return [...new Set(reports.filter(({ type }) => type === 'local-candidate').map(({ candidateType }) => candidateType))];
  });
  assert.deepEqual(types, ['relay']);
});

/** A self-signed certificate for 127.0.0.1. */
async function ownCertificate(t: TestContext): Promise<{ key: string; certificate: string }> {
  const folder = tempFolder(t);
  const [key, certificate] = [join(folder, 'tls.key'), join(folder, 'tls.crt')];
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=turn'];
  await runCommand(['openssl', ...made, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate]);
  return { key, certificate };
}

test('two browsers see each other through a relay over TLS with the separate certificate of TURN', async (t) => {
  const { key, certificate } = await ownCertificate(t);
  const [port = 0, tlsPort = 0] = await freePorts(2);
  const env = {
    SVC_WEBRTC_TURN_ENABLED: 'true',
    SVC_WEBRTC_TURN_PORT: String(port),
    SVC_WEBRTC_TURN_TLS_PORT: String(tlsPort),
    SVC_WEBRTC_TURN_TLS_KEY_PATH: key,
    SVC_WEBRTC_TURN_TLS_CERT_PATH: certificate,
  };
  const fixture = await startClientFixture(t, env, { args: ['--ignore-certificate-errors'] });
  assert.match(fixture.node.url, /^http:/);
  const [server] = fixture.node.node.parts.turn?.iceServers('user') ?? [];
  const turns = `turns:127.0.0.1:${tlsPort}?transport=tcp`;
  assert.deepEqual(server?.urls, [`turn:127.0.0.1:${port}?transport=udp`, `turn:127.0.0.1:${port}?transport=tcp`, turns]);
  const tlsOnly = {
    ...fixture,
    browser: {
      ...fixture.browser,
      newPage: async (url?: string) => {
        const page = await fixture.browser.newPage();
        await page.addInitScript(() => {
          const Connection = RTCPeerConnection;
          const only = ({ iceServers = [], ...rest }: RTCConfiguration) => ({
            ...rest,
            iceServers: iceServers.map((each) => ({ ...each, urls: [each.urls].flat().filter((address) => address.startsWith('turns:')) })),
          });
          globalThis.RTCPeerConnection = class extends Connection {
            constructor(configuration: RTCConfiguration = {}) {
              super(only(configuration));
            }
            override setConfiguration(configuration: RTCConfiguration = {}): void {
              super.setConfiguration(only(configuration));
            }
          };
        });
        if (url !== undefined) await page.goto(url);
        return page;
      },
    },
  };
  const relay = { iceTransportPolicy: 'relay' } as const;
  const [first, second] = await Promise.all([enter(tlsOnly, 'first', relay), enter(tlsOnly, 'second', relay)]);
  await Promise.all([first.publish({ colour: css(red) }), second.publish({ colour: css(blue) })]);
  await Promise.all([second.sees(first, red), first.sees(second, blue)]);
  const protocols = await first.page.evaluate(async () => {
    const { send, recv } = (await kit.rooms.main?.room.getStats()) ?? {};
    const reports = [...(send?.values() ?? []), ...(recv?.values() ?? [])];
    return [...new Set(reports.filter(({ type }) => type === 'local-candidate').map(({ relayProtocol }) => relayProtocol))];
  });
  assert.deepEqual(protocols, ['tls']);
});

test('the relay forwards packets to the media of its node and to no other address', async (t) => {
  const { node, port } = await startTurnFixture(t);
  const [server] = node.node.parts.turn?.iceServers('user') ?? [];
  assert.ok(server);
  /** Output of the coturn client for a relay to this address. */
  const tryPeer = async (peer: string, password = server.credential) => {
    const args = ['-v', '-n', '1', '-e', peer, '-u', server.username, '-w', password, '-p', String(port), '127.0.0.1'];
    const said = await runCommand(['turnutils_uclient', ...args], { mayFail: true });
    return said.stdout + said.stderr;
  };
  assert.match(await tryPeer('127.0.0.2'), /error 403/);
  assert.match(await tryPeer('10.0.0.1'), /error 403/);
  assert.doesNotMatch(await tryPeer('127.0.0.1', 'guessed'), /Received relay addr/);
});

test('a killed coturn is restarted, and it ends with the node', async (t) => {
  const fixture = await startTurnFixture(t);
  const { turn } = fixture.node.node.parts;
  const before = turn?.pid ?? 0;
  process.kill(before, 'SIGKILL');
  const peer = await enter(fixture, 'first', { iceTransportPolicy: 'relay' });
  await peer.publish({ tone: 440 });
  const other = await enter(fixture, 'second');
  await other.hears(peer, 440);
  const after = turn?.pid ?? 0;
  assert.notEqual(after, before);
  await fixture.node.close();
  assert.equal(existsSync(`/proc/${after}`), false);
});
