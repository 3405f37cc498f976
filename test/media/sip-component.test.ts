// SIP components over REST through another node: calls with events and tracks, errors, and the end of a room and of a process.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RoomEvent } from '../../api/events.ts';
import { eventually } from '../kit/eventually.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { freePort, freePorts } from '../kit/network/free-ports.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { commandOf, isAlive } from '../kit/processes/alive.ts';
import { type NodePair, startNodePair } from '../kit/processes/node-pair.ts';
import { childrenOf } from '../kit/processes/node-process.ts';
import { stopwatch } from '../kit/promised-time.ts';
import { account, Kamailio } from '../kit/sip/kamailio.ts';
import * as far from '../kit/sip/sipp.ts';

type Arranged = NodePair & {
  kamailio: Kamailio;
  farEndPort: number;
  /** Adds a sip component and waits until it is registered. */
  createSip: (options?: Record<string, unknown>) => Promise<string>;
  /** A remote party that accepts `calls` calls and echoes until each ends; the component has called it. */
  called: (id: string, calls?: number) => Promise<far.Sipp>;
  /** The next event of this type that was not returned before. */
  reported: (type: RoomEvent['type']) => Promise<RoomEvent>;
};

const number = '+49123456';

async function arrange(t: TestContext, more: Record<string, string> = {}): Promise<Arranged> {
  const [farEndPort = 0, firstPort = 0] = await freePorts(2);
  const pair = await startNodePair(t, { both: { SVC_COMPONENTS_USED: 'sip file', SVC_SIP_PORT: String(firstPort), ...more } });
  // Runs until the nodes have ended, because user agents unregister.
  const kamailio = await Kamailio.start(t, { farEndPort });
  const socket = await watchEvents(t, pair.nonOwner);
  await pair.owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const registrarCredentials = { address: `127.0.0.1:${kamailio.port};transport=tcp`, ...account };
  const createSip = async (options: Record<string, unknown> = {}): Promise<string> => {
    const { status, body } = await postWhenIdle(pair.api, '/room/r/component', {
      type: 'sip',
      options: { registrarCredentials, ...options },
    });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(JSON.stringify(body).includes(account.password), false);
    await eventually(
      'registered: true',
      async () => (await pair.api.get(`/room/r/component/${String(body.data.id)}`)).body.data.properties.registered === true,
    );
    return body.data.id;
  };
  const seen = new Set<string>();
  const reported = async (type: RoomEvent['type']) => {
    const event = (await socket
      .waitFor('roomEvent', (each) => each.type === type && !seen.has(String(each.id)))
      .catch(() => {
        const came = socket.frames.flatMap((frame) =>
          'event' in frame && frame.event === 'roomEvent' ? JSON.stringify(frame.data).slice(0, 400) : [],
        );
        assert.fail(`no ${type} arrived: ${came.slice(-6).join('\n')}`);
      })) as RoomEvent;
    seen.add(event.id);
    return event;
  };
  const called = async (id: string, calls = 1) => {
    const callee = await far.Sipp.answer(t, far.answerCall, { port: farEndPort, calls });
    assert.equal((await pair.api.post(`/sip/r/${id}/call`, { phoneNumber: number })).status, 201);
    await reported('SipCallStarted');
    return callee;
  };
  return { ...pair, kamailio, farEndPort, createSip, called, reported };
}

/** The newest child process of this test that runs a user agent. */
async function sipProcess(): Promise<number> {
  const agents = (await childrenOf(process.pid)).filter((pid) => commandOf(pid).includes('main.ts sip'));
  return agents.at(-1) ?? assert.fail('no user agent runs');
}

test('a call is started, heard, reported and hung up through the other node; an incoming call has its number', async (t) => {
  const { api, owner, farEndPort, kamailio, createSip, reported } = await arrange(t);
  const id = await createSip({ answerIncoming: true });
  const calls = async () => (await owner.api.get('/health')).body.data.busy.calls;
  assert.equal(await calls(), 0);
  const path = `/sip/r/${id}/call`;
  const { properties } = (await api.get(`/room/r/component/${id}`)).body.data;
  assert.deepEqual(properties, {
    registrarCredentials: { address: `127.0.0.1:${kamailio.port};transport=tcp`, username: account.username },
    answerIncoming: true,
    ringTimeout: 60,
    registered: true,
    registrationError: null,
    calls: [],
  });

  const callee = await far.Sipp.answer(
    t,
    [far.expectInvite, far.answer('180 Ringing'), far.pause(200), far.answer('200 OK', { sdp: true }), far.expectAck, far.expectBye],
    { port: farEndPort },
  );
  const { status, body } = await api.post(path, { phoneNumber: number });
  assert.equal(status, 201);
  const call = { id: body.data.id, phoneNumber: number, direction: 'outgoing' };
  // State at the time of the response: it may ring by then.
  assert.deepEqual(body.data, { ...call, state: body.data.state });
  assert.match(body.data.state, /^(calling|ringing|active)$/);
  assert.deepEqual((await reported('SipCallRinging')).call, call);
  assert.deepEqual((await reported('SipCallStarted')).call, call);
  const { track, componentId } = await reported('TrackAdded');
  assert.equal(componentId, id);
  assert.deepEqual(track?.metadata, { source: 'sip', callId: call.id, phoneNumber: number, direction: 'outgoing' });
  assert.deepEqual((await api.get(`/room/r/component/${id}`)).body.data.properties.calls, [{ ...call, state: 'active' }]);
  assert.equal(await calls(), 1);
  assert.equal((await api.post(`${path}/${call.id}/dtmf`, { digits: '1' })).status, 204);
  assert.equal((await api.delete(`${path}/${call.id}`)).status, 204);
  const ended = await reported('SipCallEnded');
  assert.deepEqual([ended.call, ended.reason], [call, 'hung_up']);
  await callee.done();
  assert.equal(await calls(), 0);
  assert.equal((await reported('TrackRemoved')).track?.id, track?.id);
  assert.equal((await api.delete(`${path}/${call.id}`)).body.code, 'call_not_found');

  const caller = await far.Sipp.run(
    t,
    [far.invite('room'), far.maybe(100), far.expectOk, far.further('ACK', 1), far.pause(200), far.further('BYE', 2), far.take(200)],
    { port: farEndPort, target: `127.0.0.1:${kamailio.port}` },
  );
  const started = await reported('SipCallStarted');
  assert.deepEqual([started.call?.phoneNumber, started.call?.direction], ['+491234', 'incoming']);
  assert.equal((await reported('SipCallEnded')).reason, 'far_side_hung_up');
  await caller.done();
});

test('invalid calls are rejected with a message', async (t) => {
  const { api, createSip, kamailio } = await arrange(t);
  const id = await createSip();
  const refusals = [
    [`/sip/r/${id}/call`, { phoneNumber: 'a b' }, 400, 'invalid_field'],
    [`/sip/r/${id}/call`, {}, 400, 'invalid_field'],
    ['/sip/r/none/call', { phoneNumber: number }, 404, 'component_not_found'],
    ['/sip/none/none/call', { phoneNumber: number }, 404, 'room_not_found'],
    [`/sip/r/${id}/call/none/dtmf`, { digits: '1' }, 404, 'call_not_found'],
    [`/sip/r/${id}/call/none/dtmf`, { digits: 'x' }, 400, 'invalid_field'],
  ] as const;
  for (const [path, asked, status, code] of refusals) {
    const answer = await api.post(path, asked);
    assert.deepEqual([answer.status, answer.body.code], [status, code], `${path} ${JSON.stringify(asked)}: ${JSON.stringify(answer.body)}`);
  }
  assert.equal((await api.delete(`/sip/r/${id}/call`)).status, 204, 'hanging up without calls succeeds');
  await kamailio.stop();
  await eventually('registered: false', async () => (await api.get(`/room/r/component/${id}`)).body.data.properties.registered === false);
  const { properties } = (await api.get(`/room/r/component/${id}`)).body.data;
  assert.match(properties.registrationError, /registrar/);
  const answer = await api.post(`/sip/r/${id}/call`, { phoneNumber: number });
  assert.deepEqual([answer.status, answer.body.code], [503, 'unavailable']);

  for (const [options, message] of [
    [{}, 'Required field registrarCredentials is missing'],
    [
      { registrarCredentials: { address: 'a b', username: 'u', password: 'p' } },
      /^Expected registrarCredentials.address to be the address of a registrar/,
    ],
    [
      { registrarCredentials: { address: 'a', username: 'u"', password: 'hidden word' } },
      /^Expected registrarCredentials.username to be the name/,
    ],
  ] as const) {
    const { status, body } = await api.post('/room/r/component', { type: 'sip', options });
    assert.equal(status, 400);
    if (typeof message === 'string') assert.equal(body.errors, message);
    else assert.match(body.errors, message);
    assert.doesNotMatch(body.errors, /hidden word/);
  }
});

test('components and calls beyond the CPU budget are rejected with the reason, in both directions, until one has ended', async (t) => {
  // Budget of one user agent and one call.
  const { api, owner, kamailio, createSip, called, reported } = await arrange(t, { SVC_AV_MAX_CPU: '0.15' });
  const id = await createSip({ answerIncoming: true });
  const callee = await called(id);
  const path = `/sip/r/${id}/call`;
  const full = await api.post(path, { phoneNumber: number });
  const message = 'This node has no capacity for one more phone call: 0.03 cores are required, and 0.13 of 0.15 are reserved';
  assert.deepEqual([full.status, full.body], [503, { errors: message, code: 'unavailable' }]);
  await owner.node.parts.rooms.createRoom({ roomId: 's' });
  const registrarCredentials = { address: `127.0.0.1:${kamailio.port}`, ...account };
  const other = await api.post('/room/s/component', { type: 'sip', options: { registrarCredentials } });
  assert.deepEqual([other.status, other.body.code], [503, 'unavailable']);
  assert.match(other.body.errors, /^This node has no capacity for one more SIP user agent: /);

  const nearPort = await freePort();
  const target = `127.0.0.1:${kamailio.port}`;
  const refused = [far.invite('room'), far.maybe(100), far.take(486), far.acknowledge];
  await (await far.Sipp.run(t, refused, { port: nearPort, target })).done();

  assert.equal((await api.delete(path)).status, 204);
  assert.equal((await reported('SipCallEnded')).reason, 'hung_up');
  await callee.done();
  const taken = [far.invite('room'), far.maybe(100), far.expectOk, far.further('ACK', 1), far.further('BYE', 2), far.take(200)];
  await (await far.Sipp.run(t, taken, { port: nearPort, target })).done();
  assert.equal((await reported('SipCallEnded')).call?.direction, 'incoming');
  await api.delete(`/room/r/component/${id}`);
  assert.equal((await postWhenIdle(api, '/room/s/component', { type: 'sip', options: { registrarCredentials } })).status, 201);
});

test('a ringing call ends with its room: the remote party and events are notified in order', async (t) => {
  const { api, farEndPort, createSip, reported } = await arrange(t);
  const id = await createSip();
  const callee = await far.Sipp.answer(t, [far.takeInviteToCancel, far.answer('180 Ringing'), far.expectCancel, far.expectAck], {
    port: farEndPort,
  });
  await api.post(`/sip/r/${id}/call`, { phoneNumber: number });
  await reported('SipCallRinging');
  assert.equal((await api.delete('/room/r')).status, 204);
  const ends = [await reported('SipCallEnded'), await reported('ComponentRemoved'), await reported('RoomDeleted')];
  assert.deepEqual(
    ends.map(({ reason }) => reason),
    ['hung_up', 'room_deleted', 'deleted'],
  );
  assert.deepEqual(
    [...ends].sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0)),
    ends,
  );
  await callee.done();
});

test('a remote party that vanishes ends its call by silence, reported with that reason', { timeout: 150_000 }, async (t) => {
  const { api, createSip, called, reported } = await arrange(t);
  const id = await createSip();
  const callee = await called(id);
  const { track } = await reported('TrackAdded');
  // It echoes: audio flows until it vanishes.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  await callee.kill();
  const elapsed = stopwatch();
  const isOver = async () => (await api.get(`/room/r/component/${id}`)).body.data.properties.calls.length === 0;
  await eventually('the call has ended', isOver, { within: 90_000 });
  const took = elapsed();
  t.diagnostic(`the call ended ${(took / 1000).toFixed(1)} s after its remote party`);
  // The silence timeout is thirty seconds.
  assert.ok(took > 25_000, `${took} ms: it ended early`);
  assert.equal((await reported('SipCallEnded')).reason, 'silent');
  assert.equal((await reported('TrackRemoved')).track?.id, track?.id);
  assert.equal((await api.get(`/room/r/component/${id}`)).body.data.properties.registered, true);
});

test('a killed user agent is restarted: its call is reported as ended and hung up, and the next call succeeds', async (t) => {
  const { api, createSip, called, reported } = await arrange(t);
  const id = await createSip();
  const callee = await called(id, 2);
  const { track } = await reported('TrackAdded');
  process.kill(await sipProcess(), 'SIGKILL');
  assert.equal((await reported('SipCallEnded')).reason, 'crashed');
  assert.equal((await reported('TrackRemoved')).track?.id, track?.id);
  await eventually('registered: true', async () => (await api.get(`/room/r/component/${id}`)).body.data.properties.registered === true);
  assert.deepEqual((await api.get(`/room/r/component/${id}`)).body.data.properties.calls, []);
  assert.equal((await api.post(`/sip/r/${id}/call`, { phoneNumber: number })).status, 201);
  await reported('SipCallStarted');
  await reported('TrackAdded');
  assert.equal((await api.delete(`/sip/r/${id}/call`)).status, 204);
  // Both got BYE: that of the first call came from the second process.
  await callee.done();
});

test('shutdown waits until user agents have hung up', async (t) => {
  const { owner, createSip, called } = await arrange(t);
  const callee = await called(await createSip());
  const pid = await sipProcess();
  // Stopped for longer than everything else takes.
  process.kill(pid, 'SIGSTOP');
  setTimeout(() => process.kill(pid, 'SIGCONT'), 2000);
  await owner.close();
  assert.equal(isAlive(pid), false);
  await callee.done();
});

test('a user agent that is killed repeatedly ends its component with a reason', async (t) => {
  const { api, createSip, reported } = await arrange(t);
  const id = await createSip();
  const killed = new Set<number>();
  for (let kills = 0; kills < 4; kills += 1) {
    let pid = 0;
    await eventually('it is running', async () => {
      pid = await sipProcess().catch(() => 0);
      return pid !== 0 && !killed.has(pid);
    });
    killed.add(pid);
    process.kill(pid, 'SIGKILL');
  }
  const { componentId, reason } = await reported('ComponentCrashed');
  assert.equal(componentId, id);
  assert.match(reason ?? '', /^The SIP user agent crashed too often: /);
  assert.equal((await api.get(`/room/r/component/${id}`)).body.code, 'component_not_found');
});
