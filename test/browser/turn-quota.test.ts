// How many relays a real coturn gives to one peer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnServer } from '../../node/turn/turn-server.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { allocateRelay } from '../kit/network/turn-client.ts';
import { recordedLog } from '../kit/recorded-log.ts';

test('a peer has 16 relays at once, however often it asks for credentials; others have theirs, also of the same id in another room', async (t) => {
  const port = await freePort();
  const turn = await TurnServer.start({
    log: recordedLog().log,
    ...{ listenIp: '127.0.0.1', port, tls: undefined, mediaIp: '127.0.0.1' },
    ...{ address: () => '127.0.0.1', tlsHost: () => '', onRenew: () => {} },
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
    // Another name as soon as a second is over, if names were made of seconds; and one that is really another in the end.
    t.mock.timers.setTime(Date.now() + (tries < 20 ? 1000 : 600_000));
  }
  assert.equal(greedy.filter(({ status }) => status === 200).length, 16);
  assert.ok(greedy.slice(16).every(({ status }) => status === 486));
  assert.ok(new Set(greedy.slice(0, 20).map(({ name }) => name)).size <= 2, 'credentials stay for an hour');
  assert.equal((await ask('other-room/greedy')).status, 200);
  assert.equal((await ask('room/other')).status, 200);
});
