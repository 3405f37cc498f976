// Worker death: reasons that rooms report, and which rooms are suspicious.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordLastPacket, takeLastPacket } from '../../../../node/media/worker/last-words.ts';
import { crashReason, isSuspicious, type WorkerDeath } from '../../../../node/media/worker/worker-death.ts';

const died: WorkerDeath = { orderly: false, hung: false, lastPacket: undefined };
const at = (routerId: string, handling: boolean, hung = false): WorkerDeath => ({ ...died, hung, lastPacket: { routerId, handling } });

test('the reason states the last packet without naming another room', () => {
  const cases: [WorkerDeath, string | undefined, string, boolean][] = [
    [died, 'a', 'media worker died', true],
    [{ ...died, hung: true }, undefined, 'media worker hung', true],
    [at('a', true), 'a', 'media worker died at a packet of this room', true],
    [at('a', true, true), 'a', 'media worker hung at a packet of this room', true],
    [at('a', false), 'a', 'media worker died after a packet of this room', true],
    // The worker died after handling that packet, so any room may be the cause.
    [at('a', false), 'b', 'media worker died after a packet of another room', true],
    [at('a', true), 'b', 'media worker died at a packet of another room', false],
    [at('a', true), undefined, 'media worker died at a packet of another room', false],
  ];
  for (const [death, routerId, reason, suspicious] of cases) {
    assert.equal(crashReason(death, routerId), reason);
    assert.equal(isSuspicious(reason), suspicious, reason);
  }
});

test('a room lost with its node is no suspect', () => {
  assert.equal(isSuspicious('node_lost'), false);
});

test('the last packet is returned once, to the worker that had the transport', () => {
  recordLastPacket('(stderr) last packet: transport 3f9b-1 handling');
  recordLastPacket('(stderr) last packet: transport 3f9b-2 handled');
  recordLastPacket('(stderr) Association::HandleReceivedCookieEchoChunk() | failed assertion');
  assert.equal(takeLastPacket(new Map([['3f9b-3', 'r']])), undefined);
  const transports = new Map([
    ['3f9b-1', 'a'],
    ['3f9b-2', 'b'],
  ]);
  assert.deepEqual(takeLastPacket(transports), { routerId: 'a', handling: true });
  assert.deepEqual(takeLastPacket(transports), { routerId: 'b', handling: false });
  assert.equal(takeLastPacket(transports), undefined);
});
