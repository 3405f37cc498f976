// Hostile workers of agents, participants and agents of LiveKit against a node.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { StreamCaptions } from '../../node/components/hls/playlist/stream-captions.ts';
import { CaptionsFile } from '../../node/components/recording/captions-file.ts';
import { accessKey, signAccessToken } from '../kit/access-tokens.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { ByteFuzzer } from '../kit/fuzzer.ts';
import { TestAgentWorker, workerToken } from '../kit/livekit/agent-worker.ts';
import { LiveKitSocket } from '../kit/livekit/livekit-socket.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { tempFolder } from '../kit/temp-folder.ts';
import { attack } from './attack.ts';
import { attacks } from './livekit.attacks.ts';

const tenant = { id: 'tenant', secret: 's'.repeat(40), roomPrefix: 'tenant-' };

async function start(t: TestContext) {
  const file = join(tempFolder(t), 'keys.yaml');
  await writeFile(file, JSON.stringify({ accessKeys: [accessKey, tenant] }));
  const node = await startNodeProcess(t, { SVC_CONFIG_FILES: file, SVC_LIVEKIT_ENABLED: 'true' });
  const { url, api } = node;
  /** A peer joins the room, which is created. */
  const enter = async (room: string) => {
    const socket = await LiveKitSocket.open(url, await signAccessToken({ room, video: { roomCreate: true } }));
    t.after(() => socket.webSocket.terminate());
    await socket.waitFor('join');
  };
  const register = async (token?: string) => {
    const worker = await TestAgentWorker.register({ url, ...(token !== undefined && { token }) });
    t.after(() => worker.webSocket.terminate());
    return worker;
  };
  const roomsOf = (worker: TestAgentWorker) => [...worker.jobs.values()].map(({ job }) => job.room?.name);
  return { url, api, enter, register, roomsOf };
}

attack(attacks.agentSockets, async (t) => {
  const { url, enter, register, roomsOf } = await start(t);
  const statusOf = async (token: string | undefined) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/agent`, { headers });
    socket.on('error', () => {});
    const [, { statusCode }] = await once(socket, 'unexpected-response');
    socket.terminate();
    return statusCode;
  };
  const agent = { video: { roomJoin: undefined, agent: true } };
  const forged = await signAccessToken({ ...agent, key: new TextEncoder().encode('another secret of another backend') });
  const participant = await signAccessToken({ video: { roomCreate: true, roomAdmin: true } });
  const statuses = [];
  for (const token of [undefined, '', 'x.y.z', forged, await signAccessToken({ ...agent, keyId: 'unknown' }), participant])
    statuses.push(await statusOf(token));
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 403]);
  const healthy = await register();
  await enter('r');
  await eventually('the worker of the backend has the job', () => roomsOf(healthy).join() === 'r');
});

attack(attacks.hostileWorker, async (t) => {
  const { url, enter, register, roomsOf } = await start(t);
  const healthy = await register();
  await enter('kept');
  const { job } = await healthy.waitFor('assignment');
  for (const [code, act] of [
    [4400, (worker: TestAgentWorker) => worker.webSocket.send(Buffer.from([0xff]))],
    [4400, (worker: TestAgentWorker) => worker.webSocket.send('{}')],
    [4400, (worker: TestAgentWorker) => worker.send({ case: 'migrateJob', value: { jobIds: Array.from({ length: 1_001 }, String) } })],
    [4413, (worker: TestAgentWorker) => worker.webSocket.send(Buffer.alloc(65 * 1024))],
    [
      4429,
      (worker: TestAgentWorker) => {
        for (let sent = 0; sent < 400; sent += 1) worker.send({ case: 'ping', value: {} });
      },
    ],
  ] as const) {
    const hostile = await TestAgentWorker.open({ url });
    hostile.send({ case: 'register', value: { agentName: 'hostile' } });
    act(hostile);
    assert.equal((await hostile.closed).code, code);
  }
  const thief = await TestAgentWorker.open({ url });
  thief.send({ case: 'register', value: { agentName: 'thief' } });
  thief.send({ case: 'updateJob', value: { jobId: job?.id ?? '', status: 2 } });
  thief.send({ case: 'availability', value: { jobId: job?.id ?? '', available: true } });
  thief.send({ case: 'migrateJob', value: { jobIds: ['AJ_guessed'] } });
  assert.equal((await thief.waitFor('termination')).jobId, 'AJ_guessed');
  await enter('new');
  await eventually('the next room has its agent', () => roomsOf(healthy).join() === 'kept,new');
  assert.ok(healthy.messages.every((message) => message.case !== 'termination'));
  assert.equal(thief.jobs.size, 0);
  thief.kill();
});

attack(attacks.foreignRooms, async (t) => {
  const { enter, register, roomsOf } = await start(t);
  const grants = { video: { room: undefined, roomJoin: undefined, agent: true } };
  const token = await signAccessToken({ ...grants, keyId: tenant.id, key: new TextEncoder().encode(tenant.secret) });
  const hostile = await register(token);
  await enter('private');
  hostile.send({ case: 'simulateJob', value: { room: { name: 'private' } } });
  await enter('tenant-1');
  await eventually('it has the job of its room', () => roomsOf(hostile).length > 0);
  const healthy = await register(await workerToken());
  await eventually('the other room waited for a worker of its key', () => roomsOf(healthy).join() === 'private');
  assert.deepEqual(roomsOf(hostile), ['tenant-1']);
});

const serverMethods = [
  ...['CreateRoom', 'ListRooms', 'DeleteRoom', 'ListParticipants', 'GetParticipant', 'RemoveParticipant', 'MutePublishedTrack'],
  ...['UpdateParticipant', 'UpdateRoomMetadata', 'SendData'],
].map((name) => `RoomService/${name}`);
const otherMethods = [
  ...['AgentDispatchService/CreateDispatch', 'AgentDispatchService/DeleteDispatch', 'AgentDispatchService/ListDispatch'],
  ...['Egress/StartRoomCompositeEgress', 'Egress/ListEgress', 'Egress/StopEgress', 'SIP/CreateSIPParticipant'],
];

attack(attacks.participantTokens, async (t) => {
  const { url, api, enter } = await start(t);
  await enter('r');
  const grants = { roomCreate: true, roomList: true, roomAdmin: true, roomRecord: true, agent: true, ingressAdmin: true };
  const token = await signAccessToken({ identity: 'mallory', room: 'r', video: grants, claims: { sip: { admin: true, call: true } } });
  const body = { name: 'r', room: 'r', room_name: 'r', identity: 'alice', agent_name: 'x', metadata: 'changed' };
  for (const method of [...serverMethods, ...otherMethods]) {
    const { status } = await fetch(`${url}/twirp/livekit.${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(status, 403, method);
  }
  const rest = apiClient(url, token);
  const statuses = [];
  for (const path of ['/room', '/room/r', '/recording']) statuses.push((await rest.get(path)).status);
  statuses.push((await rest.delete('/room/r')).status);
  assert.deepEqual([...new Set(statuses)], [401]);
  const { config, peers } = (await api.get('/room/r')).body.data;
  assert.deepEqual([config.metadata, peers.length], [null, 1]);
});

const cue = /^\d+\n[\d:]+\.\d{3} --> [\d:]+\.\d{3}\n[^\n]+\n$/;

attack(attacks.transcripts, async (t) => {
  const folder = tempFolder(t);
  const omitted: string[] = [];
  const file = new CaptionsFile({ folder, zero: 0, onGrown: () => {}, onOmitted: ({ message }) => omitted.push(message) });
  const captions = new StreamCaptions();
  const origin = 1_700_000_000_000;
  captions.published({ time: origin, duration: 1000, origin });
  const fuzzer = new ByteFuzzer(41);
  const seed = Buffer.from('1\n00:00:00.000 --> 00:00:09.000 position:0%\n<v Ada><b>&lrm;\r\n\r\nNOTE x\n\u2028STYLE ::cue{}-->');
  let time = origin;
  for (let count = 0; count < 2_000; count += 1) {
    const text = fuzzer.mutate([seed]).toString();
    time += 100;
    file.add({ text, speaker: text }, time);
    captions.add({ text, speaker: text }, time);
  }
  for (let count = 0; count < 10; count += 1) file.add({ text: 'word '.repeat(3_276), speaker: null }, time);
  await file.close();
  const texts = [await readFile(join(folder, 'captions.vtt'), 'utf8'), captions.text({ time: origin, duration: 3_600_000, origin })];
  for (const text of texts) {
    const [head, ...cues] = text.split('\n\n').map((block) => `${block}\n`);
    assert.match(head ?? '', /^WEBVTT\n(?:X-TIMESTAMP-MAP=[\w:.,]+\n)?\n?$/);
    assert.ok(cues.length > 60);
    for (const [index, block] of cues.entries()) assert.match(index === cues.length - 1 ? block.slice(0, -1) : block, cue);
    assert.ok(!/<(?!v [^<>]*>)/.test(text), 'no tag but the name of the speaker');
  }
  assert.deepEqual(omitted, ['Too many captions wait']);
});
