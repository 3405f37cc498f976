// Requests that name foreign resources against a real node: folders of a real S3 server, internal addresses, and relays of a real coturn.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { S3Store } from '../../node/storage/s3/s3-store.ts';
import { frontLimits, TurnFront } from '../../node/turn/front/turn-front.ts';
import type { ApiAnswer } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { socketClosed } from '../kit/network/listen.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { proxyHeader, startTcpServer } from '../kit/network/tcp-server.ts';
import { allocateRelay } from '../kit/network/turn-client.ts';
import { startReceiver } from '../kit/network/webhook-receiver.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { startS3Server } from '../kit/processes/s3-server.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { silentLog } from '../kit/silent-log.ts';
import { attack } from './attack.ts';
import { attacks } from './storage.attacks.ts';

/** The created object; the failure contains the error of the node. */
function created({ status, body }: ApiAnswer) {
  assert.equal(status, 201, JSON.stringify(body));
  return body.data;
}

attack(attacks.foreignFolders, async (t) => {
  const s3 = await startS3Server(t);
  const store = new S3Store(s3.place);
  t.after(() => store.close());
  const time = '20260101T000000000Z';
  const foreign = ['backups/customers.sql', `backups-${time}/customers.sql`, `copied-${time}/report.json`];
  for (const name of foreign) await store.putText(name, '{"id":"other"}', t.signal);
  await store.putText(`own-${time}/report.json`, JSON.stringify({ id: `own-${time}` }), t.signal);
  const node = await startNodeProcess(t, s3.env);
  const { api } = node;
  for (const name of foreign) {
    const [folder = '', file = ''] = name.split('/');
    const answers = [
      await api.get(`/recording/${folder}/${file}`),
      await api.get(`/recording/${folder}`),
      await api.post(`/recording/${folder}/render`, {}),
      await api.delete(`/recording/${folder}`),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404, 404],
      name,
    );
  }
  assert.deepEqual((await api.get('/recording')).body.data, [`own-${time}`]);
  assert.equal((await api.delete(`/recording/own-${time}`)).status, 204);
  assert.deepEqual(await s3.names(), [...foreign].sort());
});

attack(attacks.privateAddresses, async (t) => {
  const inside = await startReceiver(t);
  const env = { SVC_ALLOW_PRIVATE_ADDRESSES: 'false', SVC_COMPONENTS_USED: 'recording sip' };
  const node = await startNodeProcess(t, env);
  const { api } = node;
  const hosts = ['127.0.0.1', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '2130706433', 'localhost'];
  for (const [index, host] of hosts.entries()) {
    created(await api.post('/room', { roomId: `r${index}`, webhookUrl: `http://${host}:${inside.port}/` }));
    created(await api.post(`/room/r${index}/peer`, { type: 'webrtc' }));
  }
  const dead = async () => (await api.get('/webhooks/dead')).body.data as { reason: string; event: { roomId: string } }[];
  const given = async () => (await dead()).filter(({ reason }) => reason.includes('is or resolves to a private address'));
  await eventually('webhooks to fail', async () => new Set((await given()).map(({ event }) => event.roomId)).size === hosts.length);

  const registrarCredentials = { address: `localhost:${inside.port};transport=tcp`, username: 'a', password: 'b' };
  const phone = created(await postWhenIdle(api, '/room/r0/component', { type: 'sip', options: { registrarCredentials } })).id;
  const problem = async () => String((await api.get(`/room/r0/component/${phone}`)).body.data.properties.registrationError);
  await eventually('the registrar to be rejected', async () => (await problem()).includes('localhost is or resolves to a private address'));

  const credentials = { bucket: 'bkt', accessKeyId: 'a', secretAccessKey: 'b', endpoint: `http://127.0.0.1:${inside.port}` };
  created(await postWhenIdle(api, '/room/r0/component', { type: 'recording', options: { credentials } }));
  await api.delete('/room/r0');
  await eventually('the storage to be rejected', () => /"problem":"127\.0\.0\.1 is or resolves to a private address/.test(node.output()));
  assert.equal(inside.connections(), 0);
});

attack(attacks.relays, async (t) => {
  const port = await freePort();
  const node = await startNodeProcess(t, { SVC_WEBRTC_TURN_ENABLED: 'true', SVC_WEBRTC_TURN_PORT: String(port) });
  const { api } = node;
  const guest = async (roomId: string, peerId: string): Promise<string> => {
    await api.post('/room', { roomId });
    return (await api.post(`/room/${roomId}/peer`, { type: 'webrtc', peerId })).body.data.token;
  };
  /** Response to a relay request with new credentials. */
  const relay = async (token: string) => {
    const socket = await PeerSocket.enter(node.peerSocketUrl, token);
    const servers = socket.welcome.data?.iceServers as { username: string; credential: string }[];
    const status = await allocateRelay(t, port, servers[0] ?? assert.fail('no relay is announced'));
    await socket.cut();
    return status;
  };
  const statuses: number[] = [];
  const greedy = await guest('greedy', 'same-id');
  for (let tries = 0; tries < 40; tries += 1) statuses.push(await relay(greedy));
  assert.deepEqual([statuses.filter((status) => status === 200).length, statuses.filter((status) => status === 486).length], [16, 24]);
  assert.equal(await relay(await guest('healthy', 'same-id')), 200);
  assert.equal(await relay(await guest('greedy', 'other')), 200);
});

attack(attacks.leftRelays, async (t) => {
  const port = await freePort();
  const { node, api } = await startNode(t, { SVC_WEBRTC_TURN_ENABLED: 'true', SVC_WEBRTC_TURN_PORT: String(port) });
  const { turn } = node.parts;
  assert.ok(turn);
  const relay = async (peerId: string) => allocateRelay(t, port, turn.iceServers(`room/${peerId}`)[0] ?? assert.fail('no TURN server'));
  await api.post('/room', { roomId: 'room' });
  for (const peerId of ['ann', 'bob', 'bobby']) await api.post('/room/room/peer', { type: 'webrtc', peerId });
  assert.deepEqual(await Promise.all(['ann', 'bob', 'bob', 'bobby'].map(relay)), [200, 200, 200, 200]);
  assert.equal(await turn.cancelRelays(), 0);
  await api.delete('/room/room/peer/bob');
  await eventually('both relays of the guest to be cancelled', async () => (await turn.cancelRelays()) === 2);
  await eventually('no other relay to be cancelled', async () => (await turn.cancelRelays()) === 0);

  t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 9 * 60_000 });
  assert.equal(await relay('bob'), 200);
  t.mock.timers.setTime(Date.now() - 7 * 60_000);
  assert.equal(await relay('bob'), 401);
});

attack(attacks.turnConnections, async (t) => {
  const coturn = await startTcpServer(t, () => {});
  const listen = { host: '127.0.0.1', port: await freePort() };
  const front = await TurnFront.start({ listen, target: { host: '127.0.0.1', port: coturn.port }, ...frontLimits }, silentLog());
  t.after(() => front.close());
  const open = (remoteAddress: string): Socket => {
    const socket = connect(listen).on('error', () => {});
    t.after(() => socket.destroy());
    socket.write(proxyHeader({ remoteAddress, remotePort: 50_000, localAddress: '10.0.0.1', localPort: 443 }, 2));
    return socket;
  };
  const many = Array.from({ length: frontLimits.maxPerNetwork }, () => open('203.0.113.7'));
  await eventually('all of them reach coturn', () => coturn.sockets.size === many.length);
  await socketClosed(open('203.0.113.7'));
  open('203.0.113.8');
  await eventually('another network reaches coturn', () => coturn.sockets.size === many.length + 1);
  assert.ok(many.every(({ closed }) => !closed));
});
