// RPCs of peers: responses, rejections, deadlines, lost peers and limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair, type TestPeer } from '../../kit/fakes/rooms.ts';

async function pair() {
  const { rooms, alice, bob } = await makePair();
  const room = rooms.room('r');
  const request = (method = 'dance', timeout = 10) => room.rpcs.request(null, bob.peer, { method, payload: { tempo: 1 }, timeout });
  return { rooms, room, alice, bob, request };
}
const idOf = ({ connection }: TestPeer) => connection.of('rpcRequested').at(-1)?.rpcId ?? '';

test('a backend gets the response of a peer', async () => {
  const { bob, request } = await pair();
  const response = request();
  assert.deepEqual(bob.connection.of('rpcRequested'), [{ rpcId: idOf(bob), from: null, method: 'dance', payload: { tempo: 1 } }]);
  bob.peer.session.respondRpc({ rpcId: idOf(bob), payload: 'done' });
  assert.equal(await response, 'done');
  assert.throws(() => bob.peer.session.respondRpc({ rpcId: idOf(bob), payload: 'again' }), { code: 'not_found' });
});

test('a peer gets the response or the rejection of another peer as an event', async () => {
  const { alice, bob } = await pair();
  const send = (rpcId: string) => alice.peer.session.sendRpc({ rpcId, to: 'bob', method: 'dance', payload: null, timeout: 10 });
  send('1');
  assert.equal(bob.connection.of('rpcRequested')[0]?.from, 'alice');
  assert.throws(() => alice.peer.session.respondRpc({ rpcId: idOf(bob), payload: 'forged' }), { code: 'not_found' });
  bob.peer.session.respondRpc({ rpcId: idOf(bob), payload: 7 });
  send('2');
  bob.peer.session.respondRpc({ rpcId: idOf(bob), error: 'Not now' });
  await Promise.resolve();
  assert.deepEqual(alice.connection.of('rpcResponded'), [{ rpcId: '1', payload: 7 }]);
  assert.deepEqual(alice.connection.of('rpcFailed'), [{ rpcId: '2', code: 'rpc_failed', message: 'Not now' }]);
});

test('a request fails at its deadline, and when the session of the peer ends', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { bob, request } = await pair();
  const late = assert.rejects(request('dance', 3), { code: 'rpc_timeout', message: 'Peer bob did not respond within 3 s' });
  t.mock.timers.tick(3_000);
  await late;
  const lost = assert.rejects(request(), { code: 'peer_not_found' });
  bob.peer.disconnect();
  await lost;
  assert.throws(() => request(), { code: 'peer_not_found', message: 'Peer bob is not connected' });
});

test('requests of a peer need the permission to send data, and are limited in size and number', async () => {
  const { rooms, alice, bob } = await pair();
  const send = (payload: string, to = 'bob') => alice.peer.session.sendRpc({ rpcId: 'x', to, method: 'dance', payload, timeout: 10 });
  assert.throws(() => send('', 'nobody'), { code: 'peer_not_found' });
  assert.throws(() => send('x'.repeat(20_000)), { code: 'too_large' });
  for (let count = 0; count < 32; count += 1) send('');
  assert.throws(() => send(''), { code: 'too_many_requests', message: 'Too many pending RPCs' });
  bob.peer.session.respondRpc({ rpcId: idOf(bob) });
  send('');
  await rooms.patchPeer('r', 'alice', { permissions: { data: false } });
  assert.throws(() => send(''), { code: 'forbidden' });
});
