// Messages of the guest page: device errors, connection test and outages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WayResult } from '../../../packages/client/src/index.ts';
import { levelOf } from '../../../packages/console/src/lobby/audio-level.ts';
import { checkSummary, pathResult, serverResult } from '../../../packages/console/src/lobby/check-messages.ts';
import { deviceErrorMessage } from '../../../packages/console/src/session/device-error.ts';
import { outageText, withMediaPath } from '../../../packages/console/src/session/outage.ts';

const way = (name: WayResult['way'], state: 'open' | 'closed' | 'none'): WayResult =>
  state === 'open' ? { way: name, state, roundTrip: 12.4 } : { way: name, state };

test('the summary of the connection test depends on the best open path', () => {
  const judge = (udp: 'open' | 'closed', tcp: 'open' | 'closed', relay: 'open' | 'closed' | 'none') =>
    checkSummary([way('relay', relay), way('udp', udp), way('tcp', tcp)]);
  assert.equal(judge('open', 'closed', 'none').mark, 'good');
  assert.match(judge('closed', 'open', 'none').message, /over TCP/);
  assert.match(judge('closed', 'closed', 'open').message, /through a relay/);
  const nothing = judge('closed', 'closed', 'none');
  assert.equal(nothing.mark, 'bad');
  assert.match(nothing.message, /audio and video will not work/);
});

test('a closed path is bad only if no other is open, and a missing path is neutral', () => {
  assert.deepEqual(pathResult(way('udp', 'open'), []), {
    mark: 'good',
    message: 'Direct media connection (UDP) works, round trip 12 ms.',
  });
  assert.equal(pathResult(way('udp', 'closed'), [way('tcp', 'open')]).mark, 'warning');
  assert.equal(pathResult(way('udp', 'closed'), [way('tcp', 'closed')]).mark, 'bad');
  assert.equal(pathResult(way('relay', 'none'), []).mark, 'info');
  assert.equal(pathResult({ way: 'relay', state: 'open', roundTrip: undefined, over: 'tls' }, []).message, 'TURN relay works over TLS.');
});

test('a rejection by the server is explained to the guest', () => {
  const refused = (code: string) => serverResult({ state: 'refused', code, message: 'No' }).message;
  assert.match(refused('room_not_found'), /has ended/);
  assert.match(refused('invalid_token'), /invalid or expired/);
  assert.match(refused('unavailable'), /No\.$/);
  assert.match(serverResult({ state: 'closed' }).message, /Cannot reach the server/);
});

test('a device error has a reason and advice', () => {
  const of = (name: string, bySystem = false) => deviceErrorMessage('camera', new DOMException('x', name), bySystem);
  assert.equal(of('NotAllowedError').reason, 'refused');
  assert.match(of('NotAllowedError').help ?? '', /left of the address/);
  assert.match(of('NotAllowedError', true).help ?? '', /settings of the system/);
  assert.equal(of('NotFoundError').reason, 'missing');
  assert.equal(of('NotReadableError').reason, 'busy');
  assert.equal(deviceErrorMessage('microphone', 'anything').reason, 'failed');
});

test('an outage message has duration, recovery and effect on other participants', () => {
  const now = new Date('2026-11-22T10:00:30Z');
  const since = new Date(now.getTime() - 12_000);
  const kept = new Date(now.getTime() + 18_000);
  const words = (outage: object | undefined, mediaPath: 'connected' | 'broken' | 'connecting' | 'idle', seconds = 12) =>
    outageText(
      {
        outage: outage && { since, attempts: 4, keptUntil: kept, ...outage },
        mediaPath,
        mediaSince: new Date(now.getTime() - seconds * 1_000),
      },
      now,
    );
  assert.equal(words(undefined, 'connected'), undefined);
  assert.equal(words(undefined, 'idle'), undefined);
  assert.equal(words(undefined, 'broken', 1), undefined);
  assert.match(words(undefined, 'broken')?.title ?? '', /interrupted for 12 seconds/);
  assert.match(words(undefined, 'broken')?.others ?? '', /cannot see or hear you/);
  assert.match(words(undefined, 'connecting')?.tried ?? '', /firewall/);
  const server = words({}, 'connected');
  assert.match(server?.title ?? '', /^Disconnected from the server for 12 seconds/);
  assert.match(server?.tried ?? '', /4 attempts so far/);
  assert.match(server?.others ?? '', /can probably see and hear you/);
  assert.match(words({}, 'broken')?.others ?? '', /frozen.*disconnected in 18 seconds\.$/);
  assert.match(words({ keptUntil: since }, 'connected')?.others ?? '', /see you as disconnected/);
  assert.match(words({ keptUntil: null }, 'broken')?.others ?? '', /see you as disconnected/);
});

test('an ongoing interruption is measured from its start, whatever its recovery attempts', () => {
  const at = (seconds: number) => new Date(seconds * 1_000);
  let outageState = { outage: undefined, mediaPath: 'idle' as const, mediaSince: at(0) } as Parameters<typeof withMediaPath>[0];
  outageState = withMediaPath(outageState, 'connecting', at(1));
  outageState = withMediaPath(outageState, 'broken', at(20));
  assert.deepEqual([outageState.mediaPath, outageState.mediaSince], ['connecting', at(1)]);
  outageState = withMediaPath(outageState, 'connected', at(21));
  outageState = withMediaPath(outageState, 'broken', at(30));
  outageState = withMediaPath(outageState, 'connecting', at(35));
  assert.deepEqual([outageState.mediaPath, outageState.mediaSince], ['broken', at(30)]);
  outageState = withMediaPath(outageState, 'connected', at(36));
  assert.equal(outageText(outageState, at(60)), undefined);
});

test('the audio level is 0 for silence, 1 for full scale, and in between for speech', () => {
  assert.equal(levelOf(new Float32Array(1_024)), 0);
  assert.equal(levelOf(new Float32Array(0)), 0);
  assert.equal(levelOf(new Float32Array(1_024).fill(1)), 1);
  const speech = levelOf(Float32Array.from({ length: 1_024 }, (_, i) => 0.05 * Math.sin(i / 5)));
  assert.ok(speech > 0.3 && speech < 0.9, `${speech}`);
});
