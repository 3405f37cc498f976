// AV1 from Chromium through a room into a stream and a recording, verified with ffmpeg.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { framesAt } from '../kit/media/composed-stream.ts';
import { download, follow } from '../kit/media/hls-viewer.ts';
import { assertNear, colors, frameTimes, probe } from '../kit/media/recorded-file.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { css, enter, red, startClientFixture } from './client-kit.ts';

/** Tolerant, because the browser converts colors twice. */
function assertRed(colour: readonly number[] | undefined): void {
  for (const [channel, value] of red.entries()) assertNear(colour?.[channel], value, 40, `red, green or blue (${channel})`);
}

const size = { width: 640, height: 360 };

test('AV1 from Chromium is composed into the stream of its room and recorded', async (t) => {
  const fixture = await startClientFixture(t, { SVC_COMPONENTS_USED: 'hls recording' });
  const { node, roomId } = fixture;
  const { api } = node;
  const add = async (type: string, options: object) => {
    const { status, body } = await postWhenIdle(api, `/room/${roomId}/component`, { type, options });
    assert.equal(status, 201, JSON.stringify(body));
    return body.data.id as string;
  };
  const hls = await add('hls', { ...size, persistent: true });
  const recording = await add('recording', {});
  const alice = await enter(fixture, 'alice');
  await alice.page.evaluate(async (colour) => {
    const { room } = kit.rooms.main as InstanceType<typeof kit.TestRoom>;
    await room.publish(kit.pattern(colour, 640, 360, 30), { codec: 'av1' });
  }, css(red));
  const [track] = (await api.get(`/room/${roomId}`)).body.data.peers[0].tracks;
  assert.equal(track.encoding, 'av1');
  const { url, token } = (await api.post(`/hls/${roomId}/token`, {})).body.data;
  const address = `http://${url.replace('index.m3u8', 'stream.m3u8')}`;
  const { playlists } = await follow(address, () => true);
  const before = playlists[0]?.segments.at(-1)?.number ?? 0;
  await follow(address, ({ segments }) => (segments.at(-1)?.number ?? 0) >= before + 4);
  for (const id of [recording, hls]) assert.equal((await api.delete(`/room/${roomId}/component/${id}`)).status, 204);

  const ids = (await api.get('/recording')).body.data as string[];
  const reports = await Promise.all(ids.map(async (id) => (await api.get(`/recording/${id}`)).body));
  const report = reports.find(({ type }) => type === 'recording');
  const [recorded] = report.tracks;
  assert.deepEqual([recorded.encoding, recorded.file, recorded.lostPackets], ['av1', `${track.id}.webm`, 0], JSON.stringify(recorded));
  const answer = await fetch(`${node.url}/recording/${report.id}/${recorded.file}`, { headers: { authorization: `Bearer ${node.token}` } });
  const path = join(await makeResources(t), recorded.file);
  await writeFile(path, Buffer.from(await answer.arrayBuffer()));
  const { codec, duration } = await probe(path);
  assert.equal(codec, 'av1');
  assertNear((duration ?? 0) * 1000, recorded.duration, 1, 'the duration in the report');
  const frames = await colors(path);
  assert.equal(frames.length, (await frameTimes(path)).length);
  assert.ok(frames.length > 60, `${frames.length} frames`);
  assertRed(frames.at(-1));

  const stream = reports.find(({ type }) => type === 'hls');
  const shown = await framesAt(await download(t, `${node.url}/recording/${stream.id}/index.m3u8?token=${token}`));
  // A white bar moves through the frame; most of the frame is red.
  const row = Array.from({ length: 9 }, (_, index) => shown.at(-24)?.at((index + 0.5) / 9, 0.4) ?? []);
  assertRed(red.map((_, channel) => row.map((colour) => colour[channel] ?? 0).toSorted((one, other) => one - other)[4] ?? 0));
});
