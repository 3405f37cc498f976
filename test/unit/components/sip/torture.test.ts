// Invalid messages, after RFC 4475 and mutated with a fixed seed: the user agent responds once or never, survives and keeps no state.
import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../kit/eventually.ts';
import { ByteFuzzer } from '../../../kit/fuzzer.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { tortureMessages } from '../../../kit/sip/sip-torture.ts';
import { TestUserAgent } from '../../../kit/sip/test-user-agent.ts';

type Fixture = {
  agent: TestUserAgent;
  /** Sends to the user agent from the address of the registrar. */
  send: (message: string | Buffer) => void;
  /** Messages received since the last read, after everything sent before was processed. */
  answers: () => Promise<string[]>;
  port: number;
};

/** A registrar that accepts every user agent, and a registered user agent. */
async function setup(t: TestContext): Promise<Fixture> {
  const registrar = createSocket('udp4');
  registrar.bind(0, '127.0.0.1');
  await once(registrar, 'listening');
  t.after(() => registrar.close());
  const port: { of?: number } = {};
  let came: string[] = [];
  registrar.on('message', (bytes, { port: from }) => {
    const text = bytes.toString();
    port.of = from;
    if (text.startsWith('REGISTER ')) register(registrar, text, from);
    else if (text.trim() !== '') came.push(text);
  });
  const firstPort = await freePort();
  const settings = {
    registrar: { host: '127.0.0.1', port: registrar.address().port, transport: 'UDP' as const },
    ports: { min: firstPort, max: firstPort },
    answerIncoming: true,
  };
  const agent = new TestUserAgent(t, settings, { requestRate: 100_000 }).start();
  await agent.report('registered');
  let probes = 0;
  const send = (message: string | Buffer) => registrar.send(message, port.of ?? 0, '127.0.0.1');
  const answers = async () => {
    probes += 1;
    const id = `probe-${probes}`;
    const probe = `OPTIONS sip:room@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK${id};rport\r\nFrom: <sip:p@e>;tag=1\r\nTo: <sip:room@127.0.0.1>\r\nCall-ID: ${id}\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n`;
    const answered = () => came.some((text) => text.includes(`Call-ID: ${id}\r\n`));
    let looks = 0;
    const check = () => {
      // A full socket buffer drops packets.
      if (looks % 50 === 0) send(probe);
      looks += 1;
      return answered();
    };
    await eventually('it answers', check, { every: 5 });
    const others = came.filter((text) => !text.includes('Call-ID: probe-'));
    came = [];
    return others;
  };
  return { agent, send, answers, port: port.of ?? 0 };
}

function register(registrar: Socket, text: string, port: number): void {
  const lines = text.split('\r\n').filter((line) => /^(Via|From|To|Call-ID|CSeq|Contact):/.test(line));
  registrar.send(`${['SIP/2.0 200 OK', ...lines, 'Content-Length: 0'].join('\r\n')}\r\n\r\n`, port, '127.0.0.1');
}

test('each torture message gets one response or none, and the next message is processed', async (t) => {
  const { agent, send, answers, port } = await setup(t);
  const statuses = new Map<string, Set<number>>();
  for (const message of Object.values(tortureMessages)) {
    send(message.replaceAll('PORT', String(port)));
    // A response may be retransmitted while the next message is processed.
    for (const text of await answers()) {
      const [, status] = /^SIP\/2\.0 ([2-6]\d\d)/.exec(text) ?? [];
      const [, callId = ''] = /^Call-ID: (.*)\r$/m.exec(text) ?? [];
      if (status !== undefined) statuses.set(callId, (statuses.get(callId) ?? new Set()).add(Number(status)));
    }
  }
  for (const [callId, found] of statuses) assert.equal(found.size, 1, `${callId}: ${[...found].join()}`);
  const answered = (name: string) => [...(statuses.get(`torture-${name}`) ?? [])][0];
  const expected = {
    bext01: 420,
    invut: 415,
    badsdp: 488,
    straybye: 481,
    unksm2: undefined,
    insuf: undefined,
    clerr: undefined,
    badvers: undefined,
  };
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, answered(name)])), expected);
  await agent.agent.close();
  assert.deepEqual(
    [...new Set(agent.audio.sessions.map(({ closed }) => closed))].filter((closed) => !closed),
    [],
  );
});

test('mutated messages are harmless (fixed seed)', { timeout: 60_000 }, async (t) => {
  const { agent, send, answers, port } = await setup(t);
  const rejections: unknown[] = [];
  const remember = (error: unknown) => rejections.push(error);
  process.on('unhandledRejection', remember);
  t.after(() => process.off('unhandledRejection', remember));
  const samples = Object.values(tortureMessages).map((message) => Buffer.from(message.replaceAll('PORT', String(port))));
  const byteFuzzer = new ByteFuzzer(4475);
  for (let round = 0; round < 60; round += 1) {
    for (let each = 0; each < 50; each += 1) send(byteFuzzer.mutate(samples));
    await answers();
  }
  await agent.agent.close();
  assert.ok(
    agent.audio.sessions.every(({ closed }) => closed),
    'the audio of all calls is closed',
  );
  assert.equal(rejections.length, 0, String(rejections[0]));
});

test('packets from other addresses than the registrar are dropped without parsing', async (t) => {
  const { agent, answers, port } = await setup(t);
  const attacker = createSocket('udp4');
  attacker.bind(0, '127.0.0.2');
  await once(attacker, 'listening');
  t.after(() => attacker.close());
  let heard = 0;
  attacker.on('message', () => {
    heard += 1;
  });
  const invite = (tortureMessages.sdp01 ?? '').replaceAll('PORT', String(port));
  for (let each = 0; each < 5000; each += 1) attacker.send(invite.replaceAll('sdp01', `flood-${each}`), port, '127.0.0.1');
  await answers();
  assert.equal(heard, 0);
  assert.equal(agent.audio.sessions.length, 0);
});
