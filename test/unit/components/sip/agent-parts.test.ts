// Parts of the SIP user agent: session timers, DTMF by INFO, and reasons of the end of a call.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callEndForStatus } from '../../../../node/components/sip/agent/call-end.ts';
import { parseDtmfInfo } from '../../../../node/components/sip/agent/dtmf-info.ts';
import {
  parseSessionTimerResponse,
  requestSessionTimer,
  respondSessionTimer,
  SessionTimer,
} from '../../../../node/components/sip/agent/session-timer.ts';

test('the refresher of a session is negotiated as in RFC 4028', () => {
  assert.deepEqual(requestSessionTimer(), ['Session-Expires: 1800', 'Min-SE: 90']);
  assert.deepEqual(requestSessionTimer(undefined, 3600), ['Session-Expires: 3600', 'Min-SE: 3600']);
  assert.deepEqual(parseSessionTimerResponse('600;refresher=uas'), { seconds: 600, refresher: 'remote' });
  assert.deepEqual(parseSessionTimerResponse(' 600 ; Refresher=UAC'), { seconds: 600, refresher: 'local' });
  assert.deepEqual(parseSessionTimerResponse('99999999'), { seconds: 86_400, refresher: 'local' });
  for (const none of [undefined, '', 'x', '-1', '5']) assert.equal(parseSessionTimerResponse(none), undefined);
  assert.deepEqual(respondSessionTimer({ sessionExpires: '600', supported: '100rel, timer' }), {
    expiry: { seconds: 600, refresher: 'remote' },
    headers: ['Session-Expires: 600;refresher=uac', 'Require: timer'],
  });
  assert.deepEqual(respondSessionTimer({ sessionExpires: '600', supported: undefined }), {
    expiry: { seconds: 600, refresher: 'local' },
    headers: ['Session-Expires: 600;refresher=uas'],
  });
  assert.equal(respondSessionTimer({ sessionExpires: '60', supported: 'timer' }), 'tooShort');
  assert.equal(respondSessionTimer({ sessionExpires: undefined, supported: 'timer' }), undefined);
});

test('a session is refreshed at half its interval, and expires shortly before its end', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const reported: string[] = [];
  const timer = new SessionTimer({ onRefresh: () => reported.push('refresh'), onExpired: () => reported.push('expired') });
  timer.set({ seconds: 100, refresher: 'local' });
  t.mock.timers.tick(49_999);
  assert.deepEqual(reported, []);
  t.mock.timers.tick(1);
  assert.deepEqual(reported, ['refresh']);
  timer.set({ seconds: 90, refresher: 'remote' });
  t.mock.timers.tick(59_999);
  assert.deepEqual(reported, ['refresh']);
  t.mock.timers.tick(1);
  assert.deepEqual(reported, ['refresh', 'expired']);
  timer.set({ seconds: 90, refresher: 'local' });
  timer.stop();
  t.mock.timers.tick(90_000);
  assert.deepEqual(reported, ['refresh', 'expired']);
});

test('a failed refresh is retried while time remains', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [seconds, end] of [
    [90, 60],
    [1800, 1768],
  ] as const) {
    let refreshes = 0;
    let expired = 0;
    const timer = new SessionTimer({ onRefresh: () => (refreshes += 1), onExpired: () => (expired += 1) });
    timer.set({ seconds, refresher: 'local' });
    // One second at a time, because timers create timers.
    for (let second = 0; second < end; second += 1) {
      assert.equal(expired, 0);
      t.mock.timers.tick(1000);
    }
    assert.equal(expired, 1);
    assert.ok(refreshes >= 3 && refreshes <= 10, String(refreshes));
    const before = refreshes;
    for (let second = 0; second < seconds; second += 1) t.mock.timers.tick(1000);
    assert.equal(refreshes, before);
  }
});

test('DTMF by INFO is parsed in the formats of gateways only', () => {
  assert.deepEqual(parseDtmfInfo('application/dtmf-relay', 'Signal=5\r\nDuration=160\r\n'), { digit: '5', duration: 160 });
  assert.deepEqual(parseDtmfInfo('Application/DTMF-Relay; x=y', 'signal= *\r\n'), { digit: '*', duration: 160 });
  assert.deepEqual(parseDtmfInfo('application/dtmf-relay', 'Signal=11\r\nDuration=999999'), { digit: '#', duration: 10_000 });
  assert.deepEqual(parseDtmfInfo('application/dtmf', 'a'), { digit: 'A', duration: 160 });
  for (const [type, body] of [
    ['application/dtmf-relay', ''],
    ['application/dtmf-relay', 'Signal=12'],
    ['application/dtmf-relay', 'Signal=hook'],
    ['application/dtmf', '55'],
    ['text/plain', '5'],
    [undefined, '5'],
    ['application/dtmf', '5'.repeat(300)],
  ] as const)
    assert.equal(parseDtmfInfo(type, body), undefined, body);
});

test('SIP responses map to the reason of the end of a call', () => {
  const reasons = [486, 600, 404, 484, 403, 480, 488, 603, 302, 500].map((status) => callEndForStatus(status, 'X', false).reason);
  assert.deepEqual(reasons, [
    'busy',
    'busy',
    'unknown_number',
    'unknown_number',
    'forbidden',
    'unavailable',
    'no_common_codec',
    'declined',
    'redirected',
    'failed',
  ]);
  assert.deepEqual(
    [callEndForStatus(408, undefined, true).reason, callEndForStatus(408, undefined, false).reason],
    ['no_answer', 'time_out'],
  );
  assert.deepEqual(callEndForStatus(486, `Busy\r\n\u0007 ${'x'.repeat(300)}`, false), {
    reason: 'busy',
    status: 486,
    phrase: `Busy ${'x'.repeat(123)}`,
  });
});
