// Relay quota of a peer in a real coturn.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnServer } from '../../node/turn/turn-server.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { allocateRelay } from '../kit/network/turn-client.ts';
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
