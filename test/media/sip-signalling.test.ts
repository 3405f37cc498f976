// A user agent of SIP against Kamailio as registrar and SIPp as the far end: registration and calls over UDP, TCP and TLS, and how they end.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentSettings } from '../../node/components/sip/sip-messages.ts';
import { Kamailio, type KamailioOptions } from '../kit/kamailio.ts';
import { freePorts } from '../kit/kube/ports.ts';
import { TestAgent } from '../kit/sip-agent.ts';
import * as far from '../kit/sipp.ts';

type Transport = 'UDP' | 'TCP' | 'TLS';
type Stage = { kamailio: Kamailio; farEndPort: number; agent: (transport?: Transport, settings?: Partial<AgentSettings>) => TestAgent };

async function stage(t: TestContext, options: Partial<KamailioOptions> = {}): Promise<Stage> {
  const [farEndPort = 0, firstPort = 0] = await freePorts(2);
  const kamailio = await Kamailio.start(t, { farEndPort, ...options });
  const agent = (transport: Transport = 'UDP', settings: Partial<AgentSettings> = {}) =>
    new TestAgent(t, {
      registrar:
        transport === 'TLS'
          ? { host: 'localhost', port: kamailio.tlsPort, transport }
          : { host: '127.0.0.1', port: kamailio.port, transport },
      firstPort,
      ca: kamailio.ca,
      ...settings,
    }).start();
  return { kamailio, farEndPort, agent };
}

const number = '+49123456';
const endOf = async (agent: TestAgent, callId: string) => (await agent.report('ended', { when: (report) => report.callId === callId })).end;

for (const transport of ['UDP', 'TCP', 'TLS'] as const) {
  test(`over ${transport}: registered with a digest, a call out with sound both ways, hung up here; and a call in, hung up there`, async (t) => {
    const { farEndPort, agent, kamailio } = await stage(t);
    const room = agent(transport, { answerIncoming: true });
    await room.report('registered');

    const callee = await far.Sipp.run(
      t,
      [far.takeInvite, far.answer('180 Ringing'), far.pause(100), far.answer('200 OK', { sdp: true }), far.takeAck, far.takeBye].join('\n'),
      { port: farEndPort },
    );
    await callee.listening();
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
    // It sends back what it gets.
    while (room.audio.last.packets < 20) await sleep(20);
    room.agent.hangUp('out');
    assert.deepEqual(await endOf(room, 'out'), { reason: 'hung_up' });
    await callee.done();
    assert.equal(room.audio.last.closed, true);
    const [port] = /^Via: SIP\/2\.0\/(?:UDP|TCP|TLS) 127\.0\.0\.1:(\d+);.*?rport/m.exec(callee.messages)?.slice(1) ?? [];
    assert.ok(Number(port) > 0, 'its Via says its port');

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
      ].join('\n'),
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
