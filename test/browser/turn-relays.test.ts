// Relays and credentials of peers in a real coturn: quota, expiry, and the end of the relays of peers that left.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnServer } from '../../node/turn/turn-server.ts';
import { eventually } from '../kit/eventually.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { allocateRelay } from '../kit/network/turn-client.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { recordedLog } from '../kit/recorded-log.ts';

test('a peer has at most 16 concurrent relays whatever its credentials, and the quota is per room and peer', async (t) => {
  const port = await freePort();
  const turn = await TurnServer.start({
    log: recordedLog().log,
    ...{ listenIp: '127.0.0.1', port, tls: undefined, mediaIp: '127.0.0.1' },
    ...{ address: () => '127.0.0.1', tlsHost: () => '' },
  });
  t.after(() => turn.close());
  const ask = async (user: string) => {
    const [server] = turn.iceServers(user);
    assert.ok(server);
    return { name: server.username, status: await allocateRelay(t, port, server) };
  };
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const greedy: Awaited<ReturnType<typeof ask>>[] = [];
  for (let tries = 0; tries < 40; tries += 1) {
    greedy.push(await ask('room/greedy'));
    // Advances the clock by seconds, which seldom changes the user name, then by minutes, which changes it each time.
    t.mock.timers.setTime(Date.now() + (tries < 20 ? 1000 : 600_000));
  }
  assert.equal(greedy.filter(({ status }) => status === 200).length, 16);
  assert.ok(greedy.slice(16).every(({ status }) => status === 486));
  assert.ok(new Set(greedy.slice(0, 20).map(({ name }) => name)).size <= 2, 'credentials are reused for minutes');
  assert.equal((await ask('other-room/greedy')).status, 200);
  assert.equal((await ask('room/other')).status, 200);
});

test('credentials expire within 15 minutes, and the relays of a peer that left are cancelled, those of others are not', async (t) => {
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
  await eventually('both relays of the peer to be listed and cancelled', async () => (await turn.cancelRelays()) === 2);
  await eventually('no other relay to be cancelled', async () => (await turn.cancelRelays()) === 0);

  t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 9 * 60_000 });
  assert.equal(await relay('ann'), 200);
  t.mock.timers.setTime(Date.now() - 7 * 60_000);
  assert.equal(await relay('ann'), 401);
});
