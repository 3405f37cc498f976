// Telephones of a real node, asked for at another one: calls over REST with their events and tracks, refusals, the end of a room and of a process.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import type { RoomEvent } from '../../node/rooms/shapes/events.ts';
import { eventually } from '../kit/eventually.ts';
import { freePort, freePorts } from '../kit/network/free-ports.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { isAlive } from '../kit/processes/alive.ts';
import { type NodePair, startNodePair } from '../kit/processes/node-pair.ts';
import { stopwatch } from '../kit/promised-time.ts';
import { account, Kamailio } from '../kit/sip/kamailio.ts';
import * as far from '../kit/sip/sipp.ts';

type Stage = NodePair & {
  kamailio: Kamailio;
  farEndPort: number;
  /** Adds a telephone and waits until it is registered. */
  createSip: (options?: Record<string, unknown>) => Promise<string>;
  /** A far side that takes so many calls, and echoes until each is hung up; this telephone has called it. */
  called: (id: string, calls?: number) => Promise<far.Sipp>;
  /** The next event of this kind that nobody has waited for yet. */
  told: (type: RoomEvent['type']) => Promise<RoomEvent>;
};

const number = '+49123456';

async function stage(t: TestContext, more: Record<string, string> = {}): Promise<Stage> {
  const [farEndPort = 0, firstPort = 0] = await freePorts(2);
  const pair = await startNodePair(t, { both: { SVC_COMPONENTS_USED: 'sip file', SVC_SIP_PORT: String(firstPort), ...more } });
  // It is there until the nodes have ended: telephones take their registrations back.
  const kamailio = await Kamailio.start(t, { farEndPort });
  const socket = await PeerSocket.enter(pair.nonOwner.serverSocketUrl, pair.nonOwner.token);
  t.after(() => socket.cut());
  await socket.request('subscribe', { events: 'all' });
  await pair.owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const registrarCredentials = { address: `127.0.0.1:${kamailio.port};transport=tcp`, ...account };
  const createSip = async (options: Record<string, unknown> = {}): Promise<string> => {
    const { status, body } = await pair.api.post('/room/r/component', { type: 'sip', options: { registrarCredentials, ...options } });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(JSON.stringify(body).includes(account.password), false);
    await eventually(
      'registered: true',
      async () => (await pair.api.get(`/room/r/component/${String(body.data.id)}`)).body.data.properties.registered === true,
    );
    return body.data.id;
  };
  const seen = new Set<string>();
  const told = async (type: RoomEvent['type']) => {
    const event = (await socket
      .waitFor('roomEvent', (each) => each.type === type && !seen.has(String(each.id)))
      .catch(() => {
        const came = socket.frames.flatMap((frame) =>
          'event' in frame && frame.event === 'roomEvent' ? JSON.stringify(frame.data).slice(0, 400) : [],
        );
        assert.fail(`no ${type} came: ${came.slice(-6).join('\n')}`);
      })) as RoomEvent;
    seen.add(event.id);
    return event;
  };
  const called = async (id: string, calls = 1) => {
    const callee = await far.Sipp.run(t, far.answerCall, { port: farEndPort, calls });
    await callee.listening();
    assert.equal((await pair.api.post(`/sip/r/${id}/call`, { phoneNumber: number })).status, 201);
    await told('SipCallStarted');
    return callee;
  };
  return { ...pair, kamailio, farEndPort, createSip, called, told };
}

/** The youngest of this test's own children that is one. */
async function sipProcess(): Promise<number> {
  let youngest = { pid: 0, start: -1 };
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const [command, stat] = await Promise.all(
      ['cmdline', 'stat'].map((name) => readFile(`/proc/${entry}/${name}`, 'utf8').catch(() => '')),
    );
    // proc_pid_stat(5): its parent, and when it started, which ids do not tell as they begin anew.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
    const [parent, start] = [Number(fields[1]), Number(fields[19])];
    if (command?.includes('sip-main.ts') && parent === process.pid && start > youngest.start) youngest = { pid: Number(entry), start };
  }
  if (youngest.pid === 0) throw new Error('no telephone runs');
  return youngest.pid;
}

test('a call out is made, heard, told and hung up at the wrong node; a call in comes with its number', async (t) => {
  const { api, farEndPort, kamailio, createSip, told } = await stage(t);
  const id = await createSip({ answerIncoming: true });
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

  const callee = await far.Sipp.run(
    t,
    [far.expectInvite, far.answer('180 Ringing'), far.pause(200), far.answer('200 OK', { sdp: true }), far.expectAck, far.expectBye].join(
      '\n',
    ),
    { port: farEndPort },
  );
  await callee.listening();
  const { status, body } = await api.post(path, { phoneNumber: number });
  assert.equal(status, 201);
  const call = { id: body.data.id, phoneNumber: number, direction: 'outgoing' };
  // As it is when that is answered: it may ring by then.
  assert.deepEqual(body.data, { ...call, state: body.data.state });
  assert.match(body.data.state, /^(calling|ringing|active)$/);
  assert.deepEqual((await told('SipCallRinging')).call, call);
  assert.deepEqual((await told('SipCallStarted')).call, call);
  const { track, componentId } = await told('TrackAdded');
  assert.equal(componentId, id);
  assert.deepEqual(track?.metadata, { source: 'sip', callId: call.id, phoneNumber: number, direction: 'outgoing' });
  assert.deepEqual((await api.get(`/room/r/component/${id}`)).body.data.properties.calls, [{ ...call, state: 'active' }]);
  assert.equal((await api.post(`${path}/${call.id}/dtmf`, { digits: '1' })).status, 204);
  assert.equal((await api.delete(`${path}/${call.id}`)).status, 204);
  const ended = await told('SipCallEnded');
  assert.deepEqual([ended.call, ended.reason], [call, 'hung_up']);
  await callee.done();
  assert.equal((await told('TrackRemoved')).track?.id, track?.id);
  assert.equal((await api.delete(`${path}/${call.id}`)).body.code, 'call_not_found');

  const caller = await far.Sipp.run(
    t,
    [far.invite('room'), far.maybe(100), far.expectOk, far.further('ACK', 1), far.pause(200), far.further('BYE', 2), far.take(200)].join(
      '\n',
    ),
    { port: farEndPort, target: `127.0.0.1:${kamailio.port}` },
  );
  const started = await told('SipCallStarted');
  assert.deepEqual([started.call?.phoneNumber, started.call?.direction], ['+491234', 'incoming']);
  assert.equal((await told('SipCallEnded')).reason, 'far_side_hung_up');
  await caller.done();
});

test('what cannot be called is refused in words', async (t) => {
  const { api, createSip, kamailio } = await stage(t);
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
  assert.equal((await api.delete(`/sip/r/${id}/call`)).status, 204, 'no calls are hung up too');
  await kamailio.stop();
  await eventually('registered: false', async () => (await api.get(`/room/r/component/${id}`)).body.data.properties.registered === false);
  const { properties } = (await api.get(`/room/r/component/${id}`)).body.data;
  assert.match(properties.registrationError, /registrar/);
  const answer = await api.post(`/sip/r/${id}/call`, { phoneNumber: number });
  assert.deepEqual([answer.status, answer.body.code], [503, 'unavailable']);

  for (const [options, sentence] of [
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
    if (typeof sentence === 'string') assert.equal(body.errors, sentence);
    else assert.match(body.errors, sentence);
    assert.doesNotMatch(body.errors, /hidden word/);
  }
});

test('telephones and calls that the node cannot carry are refused with the reason, out and in, until one has ended', async (t) => {
  // Of a telephone and one call.
  const { api, owner, kamailio, createSip, called, told } = await stage(t, { SVC_AV_MAX_CPU: '0.15' });
  const id = await createSip({ answerIncoming: true });
  const callee = await called(id);
  const path = `/sip/r/${id}/call`;
  const full = await api.post(path, { phoneNumber: number });
  const sentence = 'This node cannot carry one more phone call: components may use 0.15 cores, 0.13 are in use and 0.03 would be needed';
  assert.deepEqual([full.status, full.body], [503, { errors: sentence, code: 'unavailable' }]);
  await owner.node.parts.rooms.createRoom({ roomId: 's' });
  const registrarCredentials = { address: `127.0.0.1:${kamailio.port}`, ...account };
  const other = await api.post('/room/s/component', { type: 'sip', options: { registrarCredentials } });
  assert.deepEqual([other.status, other.body.code], [503, 'unavailable']);
  assert.match(other.body.errors, /^This node cannot carry one more telephone: /);

  const nearPort = await freePort();
  const target = `127.0.0.1:${kamailio.port}`;
  const refused = [far.invite('room'), far.maybe(100), far.take(486), far.acknowledge].join('\n');
  await (await far.Sipp.run(t, refused, { port: nearPort, target })).done();

  assert.equal((await api.delete(path)).status, 204);
  assert.equal((await told('SipCallEnded')).reason, 'hung_up');
  await callee.done();
  const taken = [far.invite('room'), far.maybe(100), far.expectOk, far.further('ACK', 1), far.further('BYE', 2), far.take(200)].join('\n');
  await (await far.Sipp.run(t, taken, { port: nearPort, target })).done();
  assert.equal((await told('SipCallEnded')).call?.direction, 'incoming');
  await api.delete(`/room/r/component/${id}`);
  assert.equal((await api.post('/room/s/component', { type: 'sip', options: { registrarCredentials } })).status, 201);
});

test('a call that rings ends with its room: the far side is told, and so are the events, in order', async (t) => {
  const { api, farEndPort, createSip, told } = await stage(t);
  const id = await createSip();
  const callee = await far.Sipp.run(t, [far.takeInviteToCancel, far.answer('180 Ringing'), far.expectCancel, far.expectAck].join('\n'), {
    port: farEndPort,
  });
  await callee.listening();
  await api.post(`/sip/r/${id}/call`, { phoneNumber: number });
  await told('SipCallRinging');
  assert.equal((await api.delete('/room/r')).status, 204);
  const ends = [await told('SipCallEnded'), await told('ComponentRemoved'), await told('RoomDeleted')];
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

test('a far side that is gone without a word ends its call: by its silence, told with that reason', { timeout: 150_000 }, async (t) => {
  const { api, createSip, called, told } = await stage(t);
  const id = await createSip();
  const callee = await called(id);
  const { track } = await told('TrackAdded');
  // It echoes: there is sound until it is gone.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  await callee.kill();
  const elapsed = stopwatch();
  const isOver = async () => (await api.get(`/room/r/component/${id}`)).body.data.properties.calls.length === 0;
  await eventually('the call is over', isOver, { within: 90_000 });
  const took = elapsed();
  t.diagnostic(`the call ended ${(took / 1000).toFixed(1)} s after its far side`);
  // Thirty seconds of silence are waited for.
  assert.ok(took > 25_000, `${took} ms: it was given up early`);
  assert.equal((await told('SipCallEnded')).reason, 'silent');
  assert.equal((await told('TrackRemoved')).track?.id, track?.id);
  assert.equal((await api.get(`/room/r/component/${id}`)).body.data.properties.registered, true);
});

test('a telephone that is killed in a call is started again: the call is told to be over and hung up, and the next one goes through', async (t) => {
  const { api, createSip, called, told } = await stage(t);
  const id = await createSip();
  const callee = await called(id, 2);
  const { track } = await told('TrackAdded');
  process.kill(await sipProcess(), 'SIGKILL');
  assert.equal((await told('SipCallEnded')).reason, 'crashed');
  assert.equal((await told('TrackRemoved')).track?.id, track?.id);
  await eventually('registered: true', async () => (await api.get(`/room/r/component/${id}`)).body.data.properties.registered === true);
  assert.deepEqual((await api.get(`/room/r/component/${id}`)).body.data.properties.calls, []);
  assert.equal((await api.post(`/sip/r/${id}/call`, { phoneNumber: number })).status, 201);
  await told('SipCallStarted');
  await told('TrackAdded');
  assert.equal((await api.delete(`/sip/r/${id}/call`)).status, 204);
  // Both got their BYE: that of the first came from the second process.
  await callee.done();
});

test('a node that ends waits until its telephones have hung up, since they go with it', async (t) => {
  const { owner, createSip, called } = await stage(t);
  const callee = await called(await createSip());
  const pid = await sipProcess();
  // Held up for longer than all else takes.
  process.kill(pid, 'SIGSTOP');
  setTimeout(() => process.kill(pid, 'SIGCONT'), 2000);
  await owner.close();
  assert.equal(isAlive(pid), false);
  await callee.done();
});

test('a telephone that is killed again and again is given up, in words', async (t) => {
  const { api, createSip, told } = await stage(t);
  const id = await createSip();
  const killed = new Set<number>();
  for (let kills = 0; kills < 4; kills += 1) {
    let pid = 0;
    await eventually('it comes to be', async () => {
      pid = await sipProcess().catch(() => 0);
      return pid !== 0 && !killed.has(pid);
    });
    killed.add(pid);
    process.kill(pid, 'SIGKILL');
  }
  const { componentId, reason } = await told('ComponentCrashed');
  assert.equal(componentId, id);
  assert.match(reason ?? '', /^The telephone crashed too often: /);
  assert.equal((await api.get(`/room/r/component/${id}`)).body.code, 'component_not_found');
});
