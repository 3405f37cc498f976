// Hostile media of a guest in processes that record, stream and mix it, next to tracks of other peers.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { createHlsRunner } from '../../node/components/hls/hls-runner.ts';
import { HlsStreams } from '../../node/components/hls/hls-streams.ts';
import { parseOptions } from '../../node/components/hls/options.ts';
import { Admission } from '../../node/components/process/admission.ts';
import { ComponentProcess } from '../../node/components/process/component-process.ts';
import { rtpPacket } from '../../node/components/rtp/rtp-writer.ts';
import type { RoomMedia, SubscribableTrack } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { noUploads } from '../kit/fakes/component-registry.ts';
import { hostFacts } from '../kit/fakes/fake-components.ts';
import type { AvChildCommand } from '../kit/media/component-process-main.ts';
import { framesAt, startComposer } from '../kit/media/composed-stream.ts';
import { makeRtp, sendInTime, sentPackets, withSsrc } from '../kit/media/rtp-packets.ts';
import { startPublisher } from '../kit/media/rtp-publisher.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { commandOf, isAlive } from '../kit/processes/alive.ts';
import { memoryOf } from '../kit/processes/memory.ts';
import { childrenOf, startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { apiToken } from '../kit/processes/start-node.ts';
import { recordedLog } from '../kit/recorded-log.ts';
import { silentLog } from '../kit/silent-log.ts';
import { engineFor, openRoom } from '../media/kit.ts';
import { type RecordingFixture, startRecordingFixture } from '../media/recording-fixture.ts';
import { attack } from './attack.ts';
import { attacks } from './components.attacks.ts';

attack(attacks.manyUnits, async (t) => {
  const { fixture, healthy, recorder } = await recorded(t, ['vp8', '0xC81E1E', 'healthy'], ['opus', 880, 'healthy']);
  const guest = await hostileTrack(t, fixture.room, 'H264');
  fixture.runner.receive([...healthy, guest.track]);
  const units = Buffer.concat([Buffer.from([0x78]), ...Array.from({ length: 390 }, () => Buffer.from([0, 1, 0x41]))]);
  for (let count = 0; count < 28_000; count += 1) {
    if (count % 7000 === 0) guest.send(parameterSets, count + 1);
    guest.send(units, count - (count % 7000) + 1);
    if (count % 15 === 0) await sleep(5);
  }
  await assertWhole(fixture, healthy, recorder);
});

attack(attacks.noSize, async (t) => {
  const { fixture, healthy, recorder } = await recorded(t, ['opus', 880, 'healthy']);
  const guest = await hostileTrack(t, fixture.room, 'VP8');
  fixture.runner.receive([...healthy, guest.track]);
  for (let count = 0; count < 30; count += 1) {
    guest.send(Buffer.from([0x10, 0, 0, 0, 0x9d, 1, 0x2a, 0, 0, 0, 0, 9, 9]), count * 3000, true);
    await sleep(20);
  }
  await assertWhole(fixture, healthy, recorder);
});

attack(attacks.hugeFrames, async (t) => {
  const composer = await startComposer(t);
  const large = ['-f', 'lavfi', '-i', 'color=c=0x1E1EC8:s=4096x2304:r=2', '-t', '1', '-c:v', 'libvpx', '-deadline', 'realtime'];
  const [huge, small] = await Promise.all([
    sentPackets([...large, '-cpu-used', '8', '-g', '1', '-strict', 'experimental']),
    makeRtp(t, 'vp8', '0xC81E1E', 4),
  ]);
  const video = { clockRate: 90_000, channels: 1, encoding: 'vp8', name: null } as const;
  const entries: number[] = [];
  for (let ssrc = 100; ssrc < 132; ssrc += 1) entries.push(await composer.announce({ ...video, ssrc, source: 'guest' }));
  await composer.announce({ ...video, ssrc: 1, source: 'healthy' });
  const healthy = sendInTime(t, small, { ssrc: 1, port: composer.port, clockRate: 90_000 });
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  let most = 0;
  const refused = () => new Set(composer.reports.flatMap((report) => (report.type === 'refused' ? [report.entry] : [])));
  // A composer that is starved on a loaded host loses packets beyond its socket buffer, so they are sent again.
  await eventually('most are rejected', async () => {
    for (let ssrc = 100; ssrc < 132; ssrc += 1) {
      for (const packet of huge) socket.send(withSsrc(packet, ssrc), composer.port, '127.0.0.1');
      await sleep(60);
      most = Math.max(most, memoryOf(composer.pid()));
    }
    return refused().size >= 20;
  });
  await healthy;
  most = Math.max(most, memoryOf(composer.pid()));
  t.diagnostic(`${Math.round(most / 2 ** 20)} MB, ${refused().size} of 32 tracks rejected`);
  assert.ok(refused().size >= 20 && [...refused()].every((entry) => entries.includes(entry)), [...refused()].join());
  assert.ok(most < 1024 ** 3, `${most} bytes`);
  assert.deepEqual(composer.exits, []);
  const last = (await framesAt(await composer.close())).at(-2);
  // The healthy peer has the last cell.
  const colours = [0.25, 0.5, 0.75].flatMap((x) => [0.25, 0.5, 0.75, 0.95].map((y) => last?.at(x, y) ?? []));
  assert.ok(
    colours.some(([red = 0, , blue = 255]) => red > 150 && blue < 80),
    JSON.stringify(colours),
  );
});

attack(attacks.breaksTheProcess, async (t) => {
  const { guests, dropped, crashes, composers } = await flawedStream(t, 'process.abort()', 3);
  for (const guest of guests.slice(0, 2)) {
    const before = composers();
    const send = () => {
      guest.sendFlaw();
      return composers() > before;
    };
    await eventually('the flaw is triggered', send, { every: 20 });
  }
  assert.deepEqual(
    dropped.map(([id]) => id),
    guests.slice(0, 2).map(({ track }) => track.id),
  );
  // After two crashes by a peer none of its tracks is accepted.
  for (let count = 0; count < 20; count += 1) {
    guests[2]?.sendFlaw();
    await sleep(20);
  }
  assert.deepEqual([composers(), crashes], [3, []]);
});

attack(attacks.curiousProcess, async (t) => {
  const node = await startNodeProcess(t, { SVC_COMPONENTS_USED: 'recording' });
  const { api } = node;
  await api.post('/room', { roomId: 'room' });
  assert.equal((await postWhenIdle(api, '/room/room/component', { type: 'recording' })).status, 201);
  const children = (await childrenOf(node.pid)).map((pid) => ({ pid, command: commandOf(pid) }));
  const recorder = children.find(({ command }) => command.includes('main.ts record'));
  assert.ok(recorder);
  assert.match(recorder.command, / --permission .*--allow-fs-read=/s);
  assert.doesNotMatch(recorder.command, /allow-fs-(read|write)=(\*|\/ )|allow-child-process|allow-worker|allow-wasi/);
  const workers = children.filter(({ command }) => command.includes('mediasoup-worker'));
  assert.ok(workers.length > 0);
  for (const { pid } of workers) assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, 'latin1'), /SVC_/);
  const environment = readFileSync(`/proc/${recorder.pid}/environ`, 'latin1');
  assert.doesNotMatch(environment, /SVC_|HOME=|PATH=/);
  assert.ok(!environment.includes(apiToken));
  assert.equal(getPriority(recorder.pid), 5);
  // A compromised process next to its node.
  const ask = avChild(t);
  for (const path of [`/proc/${process.pid}/environ`, `/proc/${node.pid}/environ`, '/proc/self/environ', '/etc/passwd'])
    assert.equal(await ask({ type: 'read', path }), 'ERR_ACCESS_DENIED', path);
});

attack(attacks.swellingProcess, async (t) => {
  const swell = 'for (const held = []; ; ) held.push(Buffer.alloc(1024 * 1024, 1))';
  const { guests, dropped, crashes, composers } = await flawedStream(t, swell, 1);
  const [guest] = guests;
  assert.ok(guest);
  // If it was processing another track at that moment too, the next process identifies the culprit.
  const send = () => {
    guest.sendFlaw();
    return dropped.length > 0;
  };
  await eventually('the track is identified', send, { every: 20 });
  assert.deepEqual(dropped, [[guest.track.id, 'Track crashed the composer: The process exceeded its memory limit']]);
  await eventually('another process is running', () => composers() > 1);
  assert.deepEqual(crashes, []);
});

const sps = '6742c01ed900a02ff96610000003001000000303c0f162e480';
const pps = '68cb83cb20';
/** H.264 in one packet (RFC 6184, section 5.7.1) that looks like the start of a key frame. */
const parameterSets = Buffer.from(`780019${sps}0005${pps}`, 'hex');
/** A VP8 key frame of 640x360, only its header. */
const vp8Key = [0, 0, 0, 0x9d, 1, 0x2a, 0x80, 2, 0x68, 1] as const;
const flaw = Buffer.from('a flaw not known yet');

/** A recorder with tracks of other peers. */
async function recorded(t: TestContext, ...wanted: Parameters<RecordingFixture['publishAll']>[0]) {
  const fixture = await startRecordingFixture(t);
  const healthy = await fixture.publishAll(wanted);
  fixture.runner.receive(healthy);
  await fixture.begun(...healthy);
  return { fixture, healthy, recorder: fixture.pid() };
}

/** The recorder is still the same process and has the complete healthy tracks. */
async function assertWhole(fixture: RecordingFixture, healthy: readonly SubscribableTrack[], recorder: number, maxLost = 0): Promise<void> {
  await sleep(1000);
  assert.deepEqual([fixture.crashes, fixture.pid(), isAlive(recorder)], [[], recorder, true]);
  await fixture.runner.close();
  const { state, tracks } = await fixture.report();
  assert.equal(state, 'finished');
  for (const { id } of healthy) {
    const own = tracks.filter(({ trackId }) => trackId === id);
    assert.deepEqual(
      own.map(({ lostPackets, problem }) => [(lostPackets ?? 0) <= maxLost, problem]),
      [[true, undefined]],
      JSON.stringify(own),
    );
  }
}

let guests = 0;

/** A track with RTP of the test. */
async function hostileTrack(t: TestContext, room: RoomMedia, name: 'VP8' | 'H264') {
  guests += 1;
  const [trackId, ssrc] = [`guest-${guests}`, 9000 + guests];
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const input = room.openInput();
  const to = await input.connect({ ip: '127.0.0.1', port: socket.address().port });
  const parameters = name === 'H264' ? { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 } : {};
  const codec = { mimeType: `video/${name}`, payloadType: 100, clockRate: 90_000, parameters, rtcpFeedback: [] };
  const rtpParameters = { codecs: [codec], encodings: [{ ssrc }], headerExtensions: [], rtcp: { cname: trackId } };
  await input.publish({ trackId, kind: 'video', rtpParameters });
  let sequence = 0;
  const send = (payload: Buffer, timestamp: number, marker = false) => {
    sequence += 1;
    socket.send(rtpPacket({ payloadType: 100, sequence, timestamp, ssrc, marker }, payload), to.port, to.ip);
  };
  const track: SubscribableTrack = {
    id: trackId,
    origin: { peerId: 'guest' },
    kind: 'video',
    encoding: name.toLowerCase(),
    metadata: null,
  };
  return { track, send };
}

/**
 * A stream of a healthy track and several tracks of a guest, in the real composer with an injected flaw that a packet can trigger. `fault`:
 * a statement.
 */
async function flawedStream(t: TestContext, fault: string, tracks: number) {
  const [room, resources] = [openRoom(await engineFor(t)), await makeResources(t)];
  const { log, of } = recordedLog();
  const admission = new Admission(() => ({ budget: 1.5, cores: 2, busy: 0 }));
  const streams = new HlsStreams({ log, resources, node: 'svc@test', uploads: noUploads, admission });
  const [dropped, crashes]: [string[][], string[]] = [[], []];
  const runner = createHlsRunner({
    host: {
      ...hostFacts,
      ...{ log, openOutput: () => room.openOutput() },
      trackDropped: (...drop) => dropped.push(drop),
      crashed: (reason) => crashes.push(reason),
    },
    streams,
    forwardsH264: true,
    options: parseOptions({ width: 320, height: 180, segmentDuration: 1 }, false),
    module: await flawedComposer(resources, fault),
  });
  t.after(async () => {
    await runner.close();
    await streams.close();
  });
  await runner.start();
  await startPublisher(t, { codec: 'vp8', content: '0xC81E1E', input: room.openInput(), trackId: 'healthy' });
  const hostile = await Promise.all(Array.from({ length: tracks }, () => hostileTrack(t, room, 'VP8')));
  const healthy: SubscribableTrack = { id: 'healthy', origin: { peerId: 'p' }, kind: 'video', encoding: 'vp8', metadata: null };
  runner.receive([healthy, ...hostile.map(({ track }) => track)]);
  let frames = 0;
  const guests = hostile.map(({ track, send }) => ({
    track,
    sendFlaw: () => {
      frames += 1;
      send(Buffer.concat([Buffer.from([0x10, ...vp8Key]), flaw]), frames * 3000, true);
    },
  }));
  const composers = () => of('info').filter(({ msg }) => msg === 'composer started').length;
  return { guests, dropped, crashes, composers };
}

async function flawedComposer(folder: string, fault: string): Promise<string> {
  const path = join(folder, 'composer.mjs');
  const [main, track] = ['process/main', 'hls/composer/video-track'].map((name) =>
    JSON.stringify(new URL(`../../node/components/${name}.ts`, import.meta.url)),
  );
  await writeFile(
    path,
    `import { VideoTrack } from ${track};
    const { push } = VideoTrack.prototype;
    VideoTrack.prototype.push = function (packet, now) {
      if (packet.payload.includes(${JSON.stringify(flaw.toString())})) ${fault};
      push.call(this, packet, now);
    };
    await import(${main});`,
  );
  return path;
}

function avChild(t: TestContext) {
  let heard = Promise.withResolvers<string>();
  const child = new ComponentProcess<AvChildCommand, { text: string }>({
    log: silentLog(),
    role: 'compose',
    module: join(import.meta.dirname, '../kit/media/component-process-main.ts'),
    reportSchema: z.strictObject({ text: z.string() }),
    onReport: ({ text }) => heard.resolve(text),
    onExit: () => {},
    silence: 60_000,
  });
  t.after(() => child.end(1000));
  return (command: AvChildCommand) => {
    heard = Promise.withResolvers();
    child.send(command);
    return heard.promise;
  };
}
