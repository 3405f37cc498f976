// Outage and media path: what the client reports about a lost connection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TransportOptions } from '../../../packages/client/src/generated/protocol.ts';
import type { Outage } from '../../../packages/client/src/index.ts';
import { iceRestartAnswer } from '../../../packages/client/src/media/ice-restart-answer.ts';
import { mediaPathOf } from '../../../packages/client/src/media/media-path.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { joinedRoom } from './room-kit.ts';

test('an outage reports its start, attempts and session expiry, and ends with the reconnection', async (t) => {
  const { server, socket, room, until } = await joinedRoom(t, {}, { resumeWindow: 30 });
  // Read through a function: TypeScript would narrow the property to undefined.
  const outage = (): Outage | undefined => room.outage;
  const outages: Outage[] = [];
  room.on('reconnecting', (reported) => outages.push(reported));
  assert.equal(outage(), undefined);
  assert.deepEqual(outages, []);
  const before = Date.now();
  socket.cut();
  await until('stateChanged', ({ state }) => state === 'reconnecting');
  (await server.next()).cut();
  const third = await server.next();
  const { since, attempts, keptUntil } = outage() ?? assert.fail('no outage');
  const now = Date.now();
  assert.ok(since.getTime() >= before && since.getTime() <= now);
  assert.equal(attempts, 2);
  assert.equal(keptUntil && keptUntil.getTime() - since.getTime() >= 29_000, true);
  assert.deepEqual(fieldsOf(outages, 'attempts'), [0, 1, 2]);
  await third.welcome({ resumed: true });
  await until('stateChanged', ({ state, previous }) => state === 'joined' && previous === 'reconnecting');
  assert.equal(outage(), undefined);
});

test('the media path is that of the worst transport in use', () => {
  assert.equal(mediaPathOf([]), 'idle');
  assert.equal(mediaPathOf(['new', 'new']), 'idle');
  assert.equal(mediaPathOf(['new', 'connected']), 'connected');
  assert.equal(mediaPathOf(['connecting', 'connected']), 'connecting');
  assert.equal(mediaPathOf(['disconnected', 'connecting']), 'broken');
  assert.equal(mediaPathOf(['connected', 'failed']), 'broken');
});

test('the SDP answer of a connection check contains the given candidates, and no line injected by a server', () => {
  const transport = {
    iceParameters: { usernameFragment: 'frag\r\na=evil', password: 'pass', iceLite: true },
    dtlsParameters: {
      fingerprints: [
        { algorithm: 'sha-1', value: '00:11' },
        { algorithm: 'sha-256', value: 'AA:BB' },
      ],
    },
  };
  const candidates: unknown[] = [
    { foundation: 'udpcandidate', protocol: 'udp', priority: 7, address: '192.0.2.1', port: 4000, type: 'host' },
    { foundation: 'tcpcandidate', protocol: 'tcp', priority: 6, ip: '2001:db8::1', port: 4000, type: 'host', tcpType: 'passive' },
  ];
  const lines = iceRestartAnswer('v=0\r\na=mid:data\r\n', transport, candidates as TransportOptions['iceCandidates']).split('\r\n');
  assert.ok(lines.includes('a=ice-ufrag:fraga=evil'));
  assert.ok(lines.includes('a=fingerprint:sha-256 AA:BB'));
  assert.ok(lines.includes('a=mid:data'));
  assert.ok(lines.includes('a=candidate:udpcandidate 1 udp 7 192.0.2.1 4000 typ host'));
  assert.ok(lines.includes('a=candidate:tcpcandidate 1 tcp 6 2001:db8::1 4000 typ host tcptype passive'));
  assert.equal(lines.filter((line) => line.startsWith('a=evil')).length, 0);
});
