// Programme over WHEP: a player sees and hears all peers in what a component composes, and its streams outlive composer and component.
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { goWhep, goWhip } from '../../tools/test-runner/go-programs.mjs';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { framesAt, steadyShare } from '../kit/media/composed-stream.ts';
import { makeTracks } from '../kit/media/media-files.ts';
import { samplesOf } from '../kit/media/recorded-file.ts';
import { pion } from '../kit/media/sdp-offers.ts';
import { addComponent } from '../kit/media/sources.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { recordedLog } from '../kit/recorded-log.ts';
import { addPeer, clientOf, movingFrames, offerOf, type Program, startProgram } from './whip-kit.ts';

const small = { width: 320, height: 180, segmentDuration: 1 };
const green = { colour: '0x1EC81E', frequency: 440 };
const blue = { colour: '0x1E1EC8', frequency: 1000 };

async function size(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

async function publish(t: TestContext, node: { url: string; api: ApiClient }, folder: string, { colour, frequency }: typeof green) {
  const [video, audio] = [join(folder, `${frequency}.ivf`), join(folder, `${frequency}.ogg`)];
  await makeTracks(video, audio, frequency, { colour });
  const { token } = await addPeer(node.api);
  const args = ['-url', `${node.url}/whip/r`, '-video', video, '-audio', audio];
  return startProgram(t, goWhip, args, 'SIGINT', { ...process.env, WHIP_TOKEN: token });
}

type Player = { id: string; program: Program; video: string; audio: string };

async function play(t: TestContext, node: { url: string; api: ApiClient }, folder: string): Promise<Player> {
  const { id, token } = await addPeer(node.api);
  const [video, audio] = [join(folder, `${id}.h264`), join(folder, `${id}.ogg`)];
  const args = ['-url', `${node.url}/whep/r?video=programme`, '-video', video, '-audio', audio];
  return { id, video, audio, program: startProgram(t, goWhep, args, 'SIGINT', { ...process.env, WHEP_TOKEN: token }) };
}

/** Resolves when this number of bytes more is played. */
async function playsOn({ video, audio, program }: Player, bytes = 10_000): Promise<void> {
  const before = { video: await size(video), audio: await size(audio) };
  const grown = async () => (await size(video)) > before.video + bytes && (await size(audio)) > before.audio + bytes / 2;
  await eventually('the player gets more frames and audio', grown).catch((error) => assert.fail(`${error}\n${program.output()}`));
}

/** True if the green peer is on one side of the frame and the blue one on the other. */
function showsBoth({ at }: Awaited<ReturnType<typeof framesAt>>[number]): boolean {
  // The white box may cover one of the positions.
  const seen = (left: number) => [0.1, 0.25, 0.4].map((x) => at(left + x * 0.9, 0.5));
  const has = (side: number[][], channel: number) =>
    side.some((colour) => colour.every((value, index) => (index === channel ? value > 140 : value < 90)));
  const [one, other] = [seen(0), seen(0.5)];
  return (has(one, 1) && has(other, 2)) || (has(one, 2) && has(other, 1));
}

test('Pion plays the frames and the mix of two peers, which are no tracks of the room and are sent only while it plays', async (t) => {
  const folder = await makeResources(t);
  const { log, of } = recordedLog();
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'hls', SVC_RESOURCES_BASE_PATH: folder }, log);
  const { api } = node;
  const messages = () => of('info').flatMap(({ msg }) => (/^programme /.test(String(msg)) ? [msg] : []));
  await api.post('/room', { roomId: 'r' });
  const publishers = [await publish(t, node, folder, green), await publish(t, node, folder, blue)];
  const component = await addComponent(api, 'hls', small);
  assert.deepEqual(messages(), []);
  const player = await play(t, node, folder);
  await playsOn(player);
  assert.deepEqual(messages(), ['programme started']);
  const second = await play(t, node, folder);
  await playsOn(second);
  await playsOn(player, 40_000);

  const room = (await api.get('/room/r')).body.data;
  assert.deepEqual(
    room.components.map(({ id, tracks }: { id: string; tracks: unknown[] }) => [id, tracks]),
    [[component, []]],
  );
  assert.equal(room.peers.flatMap(({ tracks }: { tracks: unknown[] }) => tracks).length, 4);
  const stats = (await api.get('/room/r/stats')).body.data;
  assert.deepEqual(
    stats.components.flatMap(({ published }: { published: unknown[] }) => published),
    [],
  );

  await second.program.stop();
  assert.deepEqual(messages(), ['programme started']);
  await playsOn(player);
  await player.program.stop();
  await eventually('it is not sent any more', () => messages().length === 2);
  assert.deepEqual(messages(), ['programme started', 'programme stopped']);
  for (const publisher of publishers) await publisher.stop();
  assert.equal((await api.get(`/room/r/component/${component}`)).status, 200);

  const output = player.program.output();
  assert.match(output, /^video\/H264: ssrc \d+, payload type \d+$/m);
  assert.equal(output.match(/ 0 missing/g)?.length, 2, output);
  const frames = await framesAt(player.video);
  const both = frames.filter(showsBoth).length;
  assert.ok(frames.length > 40 && both > frames.length * 0.6, `${both} of ${frames.length} frames show both peers`);
  // 15 of 24 frames a second are new; both boxes move.
  const moving = await movingFrames(player.video);
  assert.ok(moving > 0.4, `${moving} of the frames move`);
  const heard = (await samplesOf(player.audio)).subarray(48_000);
  const [low, high] = [steadyShare(heard, green.frequency), steadyShare(heard, blue.frequency)];
  assert.ok(low > 0.3 && high > 0.3 && low + high > 0.9, `both tones: ${low} and ${high}`);
});

test('a player continues after a crash of the composer and with a new component, and without one it waits', async (t) => {
  const folder = await makeResources(t);
  const { log, of } = recordedLog();
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'hls', SVC_RESOURCES_BASE_PATH: folder }, log);
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  await publish(t, node, folder, green);
  const component = await addComponent(api, 'hls', small);
  const player = await play(t, node, folder);
  await playsOn(player);
  const composers = () => of('info').flatMap(({ msg, pid }) => (msg === 'composer started' ? [Number(pid)] : []));
  process.kill(composers()[0] ?? assert.fail('no composer'), 'SIGKILL');
  await eventually('another composer runs', () => composers().length === 2);
  await playsOn(player);
  assert.equal((await api.delete(`/room/r/component/${component}`)).status, 204);
  assert.equal((await api.get(`/room/r/peer/${player.id}`)).body.data.peer.status, 'connected');
  await addComponent(api, 'hls', small);
  await playsOn(player);
  await player.program.stop();
  // The same stream all the time.
  assert.equal(player.program.output().match(/^video\/H264: ssrc \d+/gm)?.length, 1, player.program.output());
  await framesAt(player.video);
});

test('a room without a component or without H.264 answers with a message, and plays what it has', async (t) => {
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'hls', SVC_RESOURCES_BASE_PATH: await makeResources(t) });
  const { api } = node;
  const request = clientOf(node);
  await api.post('/room', { roomId: 'r', videoCodec: 'vp8' });
  const { id, token } = await addPeer(api);
  const offer = pion.replaceAll('a=sendonly', 'a=recvonly').replace('profile-level-id=42001f', 'profile-level-id=4d001f');
  const post = (text: string) => request('POST', '/whep/r?video=programme', { token, ...offerOf(text) });
  const without = await post(offer);
  assert.deepEqual([without.status, JSON.parse(without.text).code], [404, 'component_not_found']);
  assert.equal((await api.get(`/room/r/peer/${id}`)).body.data.peer.status, 'disconnected');
  await addComponent(api, 'hls', small);
  const onlyVideo = await post(offer.replace(/m=audio[\s\S]*/, '').replace('BUNDLE 0 1', 'BUNDLE 0'));
  assert.equal(onlyVideo.status, 422);
  assert.match(JSON.parse(onlyVideo.text).errors, /; the programme has only Opus, because the room does not forward H\.264$/);
  const { status, text } = await post(offer);
  assert.equal(status, 201, text);
  assert.deepEqual(text.match(/^m=\w+ \d+/gm), ['m=video 0', 'm=audio 9']);
});
