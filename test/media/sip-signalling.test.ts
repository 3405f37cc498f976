// SIP user agent with Kamailio as registrar and SIPp as remote party: registration and calls over UDP, TCP and TLS, and their end.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { UserAgentSettings } from '../../node/components/sip/agent/agent-messages.ts';
import { eventually } from '../kit/eventually.ts';
import { freePorts } from '../kit/network/free-ports.ts';
import { stopwatch } from '../kit/promised-time.ts';
import { Kamailio, type KamailioOptions } from '../kit/sip/kamailio.ts';
import * as far from '../kit/sip/sipp.ts';
import { TestUserAgent } from '../kit/sip/test-user-agent.ts';

type Transport = 'UDP' | 'TCP' | 'TLS';
type Arranged = {
  kamailio: Kamailio;
  farEndPort: number;
  agent: (transport?: Transport, settings?: Partial<UserAgentSettings>) => TestUserAgent;
};

async function arrange(t: TestContext, options: Partial<KamailioOptions> = {}): Promise<Arranged> {
  const [farEndPort = 0, firstPort = 0] = await freePorts(2);
  const kamailio = await Kamailio.start(t, { farEndPort, ...options });
  const agent = (transport: Transport = 'UDP', settings: Partial<UserAgentSettings> = {}) =>
    new TestUserAgent(t, {
      registrar:
        transport === 'TLS'
          ? { host: 'localhost', port: kamailio.tlsPort, transport }
          : { host: '127.0.0.1', port: kamailio.port, transport },
      ports: { min: firstPort, max: firstPort + 9 },
      ca: kamailio.ca,
      ...settings,
    }).start();
  return { kamailio, farEndPort, agent };
}

const number = '+49123456';
const endOf = async (agent: TestUserAgent, callId: string) =>
  (await agent.report('ended', { when: (report) => report.callId === callId })).end;

for (const transport of ['UDP', 'TCP', 'TLS'] as const) {
  test(`over ${transport}: registration with digest, an outgoing call with audio in both directions, and an incoming call, each with hangup`, async (t) => {
    const { farEndPort, agent, kamailio } = await arrange(t);
    const room = agent(transport, { answerIncoming: true });
    await room.report('registered');

    const callee = await far.Sipp.answer(
      t,
      [far.expectInvite, far.answer('180 Ringing'), far.pause(100), far.answer('200 OK', { sdp: true }), far.expectAck, far.expectBye],
      { port: farEndPort },
    );
    await room.agent.call('out', number);
    await room.report('ringing');
    await room.report('answered');
    const { agreed } = room.audio.last;
    assert.deepEqual(agreed, [
      {
        codec: 'PCMA',
        payloadType: 8,
        dtmfPayloadType: 101,
        comfortNoisePayloadType: undefined,
        remote: { ip: '127.0.0.1', port: callee.mediaPort },
        keys: undefined,
        direction: 'sendrecv',
      },
    ]);
    await eventually('it echoes packets', () => room.audio.last.packets >= 20, { every: 20 });
    room.agent.hangUp('out');
    assert.deepEqual(await endOf(room, 'out'), { reason: 'hung_up' });
    await callee.done();
    assert.equal(room.audio.last.closed, true);
    const [port] = /^Via: SIP\/2\.0\/(?:UDP|TCP|TLS) 127\.0\.0\.1:(\d+);.*?rport/m.exec(callee.messages)?.slice(1) ?? [];
    assert.ok(Number(port) > 0, 'its Via has its port');

    const caller = await far.Sipp.run(
      t,
      [
        far.invite('room'),
        far.maybe(100),
        far.maybe(180),
        `<recv response="200" rrs="true"/>`,
        far.further('ACK', 1),
        far.pause(300),
        far.further('BYE', 2),
        far.take(200),
      ],
      { port: farEndPort, target: `127.0.0.1:${kamailio.port}` },
    );
    const { callId, phoneNumber } = await room.report('incoming');
    assert.equal(phoneNumber, '+491234');
    assert.deepEqual(await endOf(room, callId), { reason: 'far_side_hung_up' });
    await caller.done();

    await room.agent.close();
    await kamailio.stop();
    assert.deepEqual(room.faults, []);
    assert.deepEqual(
      room.audio.sessions.map(({ closed }) => closed),
      [true, true],
    );
  });
}

test('SHA-256 is used if the registrar requires it; a wrong password is reported without the password, and not retried repeatedly', async (t) => {
  const { agent, kamailio } = await arrange(t, { algorithm: 'SHA-256' });
  await agent().report('registered');

  const wrong = agent('TCP', { password: 'another secret' });
  const { problem } = await wrong.report('unregistered');
  assert.equal(problem, 'The registrar rejected the credentials (401 Unauthorized)');
  assert.doesNotMatch(kamailio.log + JSON.stringify(wrong.reports), /another secret/);
  await assert.rejects(wrong.agent.call('out', number), { code: 'unavailable' });
});

test('busy, no answer, unknown number and remote hangup are reported with their reasons', async (t) => {
  const rooms: TestUserAgent[] = [];
  const registered = async (settings: Partial<UserAgentSettings> = {}) => {
    const { farEndPort, agent } = await arrange(t);
    const room = agent('UDP', settings);
    rooms.push(room);
    await room.report('registered');
    return { farEndPort, room };
  };
  // Each with another remote party: retransmissions of an ended call would start a call at a reused port.
  const call = async (callId: string, steps: readonly string[], settings: Partial<UserAgentSettings> = {}) => {
    const { farEndPort, room } = await registered(settings);
    const callee = await far.Sipp.answer(t, steps, { port: farEndPort });
    await room.agent.call(callId, number);
    const end = await endOf(room, callId);
    await callee.done();
    await room.agent.close();
    return end;
  };

  assert.deepEqual(await call('busy', [far.expectInvite, far.answer('486 Busy Here'), far.expectAck]), {
    reason: 'busy',
    status: 486,
    phrase: 'Busy Here',
  });
  const cancelled = [far.takeInviteToCancel, far.answer('180 Ringing'), far.expectCancel, far.expectAck];
  // Longer than a busy machine takes to ring.
  assert.deepEqual(await call('no answer', cancelled, { ringTimeout: 10_000 }), { reason: 'no_answer' });
  assert.ok(await rooms.at(-1)?.report('ringing', { when: ({ callId }) => callId === 'no answer' }));
  const hangsUp = [far.takeInviteToAsk, far.answer('200 OK', { sdp: true }), far.expectAck, far.pause(300), far.ask('BYE'), far.take(200)];
  assert.deepEqual(await call('hung up', hangsUp), { reason: 'far_side_hung_up' });

  const { room } = await registered();
  await room.agent.call('unknown', 'no-such-user');
  assert.deepEqual(await endOf(room, 'unknown'), { reason: 'unknown_number', status: 404, phrase: 'Not Found' });
  // No remote party exists.
  const { room: alone } = await registered({ ringTimeout: 2000 });
  await alone.agent.call('dead', number);
  assert.deepEqual(await endOf(alone, 'dead'), { reason: 'no_answer' });
  for (const { faults } of rooms) assert.deepEqual(faults, []);
});

test('rejected callers get a response, answered calls can be hung up, also with late offers, and closing ends all', async (t) => {
  const { farEndPort, agent, kamailio } = await arrange(t);
  const target = `127.0.0.1:${kamailio.port}`;
  const deaf = agent('TCP');
  await deaf.report('registered');
  const refused = await far.Sipp.run(t, [far.invite('room'), far.maybe(100), far.take(480), far.acknowledge], {
    port: farEndPort,
    target,
  });
  await refused.done();
  await deaf.agent.close();
  assert.deepEqual(
    deaf.reports.map(({ type }) => type),
    ['registered'],
  );

  const room = agent('TCP', { answerIncoming: true });
  await room.report('registered');
  const called = [far.invite('room'), far.maybe(100), far.expectOk, far.further('ACK', 1), far.expectBye];
  const first = await far.Sipp.run(t, called, { port: farEndPort, target });
  const { callId } = await room.report('incoming');
  await room.report('answered');
  room.agent.hangUp(callId);
  await first.done();

  const late = [
    far.invite('room', { sdp: '' }),
    far.maybe(100),
    far.expectOk,
    far.further('ACK', 1, { headers: 'Content-Type: application/sdp', body: far.audioOffer }),
    far.expectBye,
  ];
  const second = await far.Sipp.run(t, late, { port: farEndPort, target });
  await room.report('answered', { after: room.reports.length });
  await eventually('the audio is negotiated', () => room.audio.last.agreed.length > 0, { every: 20 });
  assert.equal(room.audio.last.agreed[0]?.codec, 'PCMA');
  await room.agent.close();
  await second.done();
  assert.deepEqual(room.faults, []);
});

test('the remote party can hold and resume, send DTMF by INFO, and refresh the session', async (t) => {
  const { farEndPort, agent } = await arrange(t);
  const room = agent();
  await room.report('registered');
  const held = far.audioOffer.replace('sendrecv', 'sendonly');
  const inDialog = (cseq: number, sdp: string, headers = '') => [
    far.ask('INVITE', { cseq, headers: `Content-Type: application/sdp${headers}`, body: sdp }),
    far.maybe(100),
    far.expectOk,
    far.ask('ACK', { cseq }),
  ];
  const steps = [
    far.takeInviteToAsk,
    far.answer('200 OK', { sdp: true, more: 'Session-Expires: 1800;refresher=uas\nRequire: timer' }),
    far.expectAck,
    ...inDialog(1, held),
    ...inDialog(2, far.audioOffer, '\nSession-Expires: 90;refresher=uac\nSupported: timer'),
    far.ask('INFO', { cseq: 3, headers: 'Content-Type: application/dtmf-relay', body: 'Signal=5\r\nDuration=120' }),
    far.take(200),
    far.ask('INVITE', { cseq: 4, headers: 'Session-Expires: 30' }),
    far.maybe(100),
    far.take(422),
    far.ask('ACK', { cseq: 4 }),
    far.ask('REFER', { cseq: 5, headers: 'Refer-To: <sip:elsewhere@127.0.0.1>' }),
    far.take(603),
    far.ask('BYE', { cseq: 6 }),
    far.take(200),
  ];
  const callee = await far.Sipp.answer(t, steps, { port: farEndPort });
  await room.agent.call('out', number);
  assert.deepEqual(await endOf(room, 'out'), { reason: 'far_side_hung_up' });
  await callee.done();
  assert.deepEqual(
    room.audio.last.agreed.map(({ direction }) => direction),
    ['sendrecv', 'recvonly', 'sendrecv'],
  );
  const { digit, duration } = await room.report('digit');
  assert.deepEqual([digit, duration], ['5', 120]);
  assert.match(callee.messages, /^Session-Expires: 1800\r?$/m, 'it requests a session timer');
  assert.match(callee.messages, /^Session-Expires: 90;refresher=uac\r?$/m, 'it accepts the requested interval');
  assert.match(callee.messages, /^a=recvonly\r?$/m);
  assert.deepEqual(room.faults, []);
});

for (const transport of ['UDP', 'TCP'] as const) {
  test(`over ${transport}: after a restart of the registrar the user agent registers again and accepts calls`, async (t) => {
    const { farEndPort, agent, kamailio } = await arrange(t, { maxExpires: 10 });
    const room = agent(transport, { answerIncoming: true });
    await room.report('registered');
    const before = room.reports.length;
    await kamailio.stop();
    await room.report('unregistered', { after: before });
    await assert.rejects(room.agent.call('out', number), { code: 'unavailable' });
    await kamailio.run();
    await room.report('registered', { after: before });
    const called = [
      far.invite('room'),
      far.maybe(100),
      far.expectOk,
      far.further('ACK', 1),
      far.pause(100),
      far.further('BYE', 2),
      far.take(200),
    ];
    const caller = await far.Sipp.run(t, called, { port: farEndPort, target: `127.0.0.1:${kamailio.port}` });
    await caller.done();
    assert.deepEqual(room.faults, []);
  });
}

test('untrusted certificates and certificates of other names are rejected', async (t) => {
  const { agent, kamailio } = await arrange(t);
  const attacker = new TestUserAgent(t, {
    registrar: { host: 'localhost', port: kamailio.tlsPort, transport: 'TLS' },
    ports: { min: 20_000, max: 20_000 },
  }).start();
  const other = agent('TLS', { registrar: { host: '127.0.0.1', port: kamailio.tlsPort, transport: 'TLS' } });
  const problems = await Promise.all([attacker, other].map(async (each) => (await each.report('unregistered')).problem));
  assert.match(problems[0] ?? '', /^Could not reach the registrar: .*self-signed certificate/);
  assert.match(problems[1] ?? '', /^Could not reach the registrar: .*127\.0\.0\.1/);
});

test('a session that the remote party fails to refresh ends with a BYE before it expires', {
  timeout: 120_000,
}, async (t) => {
  const { farEndPort, agent } = await arrange(t);
  const room = agent();
  await room.report('registered');
  const more = 'Session-Expires: 90;refresher=uas\nRequire: timer';
  const steps = [far.expectInvite, far.answer('200 OK', { sdp: true, more }), far.expectAck, far.expectBye];
  const callee = await far.Sipp.answer(t, steps, { port: farEndPort, timeout: 110 });
  await room.agent.call('out', number);
  await room.report('answered');
  const elapsed = stopwatch();
  await callee.done();
  const took = elapsed();
  // A third of the 90 seconds before the end (RFC 4028, section 10); a busy machine may be late.
  assert.ok(took > 50_000, `${took} ms`);
  assert.deepEqual(await endOf(room, 'out'), { reason: 'expired' });
  assert.deepEqual(room.faults, []);
});
