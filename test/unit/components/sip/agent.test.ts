// SIP user agent with a scripted registrar: retransmission, challenges and negotiation of intervals.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../kit/eventually.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { TestUserAgent } from '../../../kit/sip/test-user-agent.ts';

/** Response to a request: status line and headers; undefined if it is lost. `repeat` sends the last response again. */
type Script = (method: string, text: string, repeat: () => void) => string | undefined | Promise<string | undefined>;

/** `answers`: responses of the user agent, `send` sends to it. */
type Fixture = { agent: TestUserAgent; requests: string[]; answers: string[]; send: (text: string) => void };

async function setup(t: TestContext, script: Script, ip = '127.0.0.1'): Promise<Fixture> {
  const registrar = createSocket(isIPv6(ip) ? 'udp6' : 'udp4');
  registrar.bind(0, ip);
  await once(registrar, 'listening');
  const requests: string[] = [];
  const answers: string[] = [];
  let last = '';
  registrar.on('message', async (bytes, { port }) => {
    const text = bytes.toString();
    if (text.startsWith('SIP/2.0 ')) answers.push(text);
    const [, method] = /^([A-Z]+) /.exec(text) ?? [];
    if (method === undefined) return;
    requests.push(text);
    const answer = await script(method, text, () => registrar.send(last, port, ip));
    if (answer === undefined) return;
    const lines = text.split('\r\n').filter((line) => /^(Via|From|To|Call-ID|CSeq|Contact):/.test(line));
    const tagged = lines.map((line) => (line.startsWith('To:') && !line.includes('tag=') ? `${line};tag=far` : line));
    last = `${[answer, ...tagged, 'Content-Length: 0'].join('\r\n')}\r\n\r\n`;
    registrar.send(last, port, ip);
  });
  const firstPort = await freePort();
  const agent = new TestUserAgent(t, {
    registrar: { host: ip, port: registrar.address().port, transport: 'UDP' },
    announcedIp: ip,
    ports: { min: firstPort, max: firstPort },
    answerIncoming: true,
  }).start();
  t.after(() => registrar.close());
  return { agent, requests, answers, send: (text) => registrar.send(text.replaceAll(/\r?\n/g, '\r\n'), firstPort, ip) };
}

const of = (requests: readonly string[], method: string) => requests.filter((text) => text.startsWith(`${method} `));
const count = (requests: readonly string[], method: string) => of(requests, method).length;
/** Without retransmissions, which occur if a response is late on a busy machine. */
const different = (requests: readonly string[], method: string) => [...new Set(of(requests, method))];

test('lost requests are retransmitted unchanged', async (t) => {
  const { agent, requests } = await setup(t, () => (requests.length < 3 ? undefined : 'SIP/2.0 200 OK'));
  await agent.report('registered');
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests).size, 1);
});

test('a retransmitted challenge does not count as response to the credentials', async (t) => {
  const challenge = 'Digest realm="far", nonce="n", qop="auth"';
  const { agent, requests } = await setup(t, (method, text, repeat) => {
    if (method === 'ACK') return undefined;
    if (!/^(Proxy-)?Authorization: /m.test(text)) {
      return method === 'REGISTER'
        ? `SIP/2.0 401 Unauthorized\r\nWWW-Authenticate: ${challenge}`
        : `SIP/2.0 407 Proxy Authentication Required\r\nProxy-Authenticate: ${challenge}`;
    }
    repeat();
    return method === 'REGISTER' ? 'SIP/2.0 200 OK' : 'SIP/2.0 486 Busy Here';
  });
  await agent.report('registered');
  await agent.agent.call('c', '12');
  assert.deepEqual((await agent.report('ended')).end, { reason: 'busy', status: 486, phrase: 'Busy Here' });
  // Twice the challenge, once the final response.
  await eventually('every answer is acknowledged', () => count(requests, 'ACK') >= 3, { every: 10 });
  assert.deepEqual([different(requests, 'REGISTER').length, different(requests, 'INVITE').length], [2, 2]);
});

test('a registrar may require a longer registration, and a remote party a longer session', async (t) => {
  const { agent, requests } = await setup(t, (method, text) => {
    if (method === 'REGISTER')
      return /^Expires: 120\r$/m.test(text) ? 'SIP/2.0 423 Interval Too Brief\r\nMin-Expires: 600' : 'SIP/2.0 200 OK';
    if (method !== 'INVITE') return 'SIP/2.0 200 OK';
    return /^Session-Expires: 1800\r$/m.test(text) ? 'SIP/2.0 422 Session Interval Too Small\r\nMin-SE: 3600' : 'SIP/2.0 486 Busy Here';
  });
  await agent.report('registered');
  assert.match(different(requests, 'REGISTER')[1] ?? '', /^Expires: 600\r$/m);
  await agent.agent.call('c', '1*2#');
  assert.deepEqual((await agent.report('ended')).end, { reason: 'busy', status: 486, phrase: 'Busy Here' });
  const [, second = ''] = different(requests, 'INVITE');
  assert.match(second, /^INVITE sip:1\*2%23@127\.0\.0\.1:\d+ SIP\/2\.0\r\n/);
  assert.match(second, /^Session-Expires: 3600\r\nMin-SE: 3600\r$/m);
  assert.ok(agent.audio.last.closed);
  await eventually('every answer is acknowledged', () => count(requests, 'ACK') >= 2, { every: 10 });
});

test('hanging up before ringing cancels as soon as possible, and closing unregisters', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { agent, requests } = await setup(t, (method) => {
    if (method === 'INVITE') gate.resolve();
    return method === 'INVITE' ? 'SIP/2.0 100 Trying' : 'SIP/2.0 200 OK';
  });
  await agent.report('registered');
  await agent.agent.call('c', '1');
  await gate.promise;
  agent.agent.hangUp('c');
  assert.deepEqual((await agent.report('ended')).end, { reason: 'hung_up' });
  await agent.agent.close();
  assert.equal(different(requests, 'CANCEL').length, 1);
  assert.match(of(requests, 'REGISTER').at(-1) ?? '', /^Expires: 0\r$/m);
});

test('a registration that is granted during close() is removed', async (t) => {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const { agent, requests } = await setup(t, async () => {
    asked.resolve();
    await gate.promise;
    return 'SIP/2.0 200 OK';
  });
  await asked.promise;
  const closed = agent.agent.close();
  await sleep(50);
  assert.equal(different(requests, 'REGISTER').length, 1, 'the registrar responds first');
  gate.resolve();
  await closed;
  assert.match(of(requests, 'REGISTER').at(-1) ?? '', /^Expires: 0\r$/m);
});

test('an incoming call with pending admission is rejected at the end', async (t) => {
  const { agent, answers, send } = await setup(t, () => 'SIP/2.0 200 OK');
  await agent.report('registered');
  agent.admits = undefined;
  const asked = agent.report('admissionRequested');
  send(`INVITE sip:room@127.0.0.1 SIP/2.0
Via: SIP/2.0/UDP 127.0.0.1:9;rport;branch=z9hG4bKcall
From: <sip:42@127.0.0.1>;tag=far
To: <sip:room@127.0.0.1>
Call-ID: the-call
CSeq: 1 INVITE
Contact: <sip:42@127.0.0.1:9>
Max-Forwards: 70
Content-Length: 0

`);
  await asked;
  await agent.agent.close();
  const responses = answers.filter((text) => text.includes('CSeq: 1 INVITE'));
  assert.match(responses.at(-1) ?? '', /^SIP\/2\.0 480 /, answers.join('\n'));
});

test('without a free RTP port a call is rejected; an unknown call cannot be hung up or receive digits', async (t) => {
  const { agent } = await setup(t, () => 'SIP/2.0 200 OK');
  await agent.report('registered');
  agent.audio.full = true;
  await assert.rejects(agent.agent.call('c', '1'), { code: 'unavailable', message: 'All RTP ports are in use' });
  assert.throws(() => agent.agent.hangUp('c'), { code: 'not_found' });
  await assert.rejects(agent.agent.sendDigits('c', '1'), { code: 'not_found' });
});

test('over IPv6 it registers and calls, with the address in brackets and as IP6', async (t) => {
  const { agent, requests } = await setup(
    t,
    (method) => (method === 'ACK' ? undefined : method === 'INVITE' ? 'SIP/2.0 486 Busy Here' : 'SIP/2.0 200 OK'),
    '::1',
  );
  await agent.report('registered');
  await agent.agent.call('c', '1');
  assert.deepEqual((await agent.report('ended')).end, { reason: 'busy', status: 486, phrase: 'Busy Here' });
  const invite = requests.find((text) => text.startsWith('INVITE ')) ?? '';
  assert.match(invite, /^INVITE sip:1@\[::1\]:\d+ SIP\/2\.0\r\nVia: SIP\/2\.0\/UDP \[::1\]:\d+;/);
  assert.match(invite, /^Contact: <sip:room@\[::1\]:\d+/m);
  assert.match(invite, /^c=IN IP6 ::1\r$/m);
});
