// Components of a real node when their media worker is killed: a recording and a stream continue with what a file component plays.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { reportSchema } from '../../api/recording-report.ts';
import { eventually } from '../kit/eventually.ts';
import { follow } from '../kit/media/hls-viewer.ts';
import { assertColor, assertNear, audioSamples, colors, recordedBytes } from '../kit/media/recorded-file.ts';
import { addComponent, green, withSources } from '../kit/media/sources.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { assertPrompt } from '../kit/promised-time.ts';

/** Milliseconds in which media has a new path. */
const promisedPath = 2_000;

test('a recording and a stream of a room continue when its media worker is killed', async (t) => {
  const resources = await withSources(t, 60);
  const { node, api, url } = await startNode(t, {
    SVC_COMPONENTS_USED: 'file hls recording',
    SVC_RESOURCES_BASE_PATH: resources,
    SVC_WEBRTC_WORKERS: '2',
    SVC_WORKER_MAX_TRACKS: '100',
  });
  await api.post('/room', { roomId: 'r' });
  const recorder = await addComponent(api, 'recording');
  await addComponent(api, 'hls', { width: 320, height: 180, segmentDuration: 1 });
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  const { token } = (await api.post('/hls/r/token', {})).body.data;
  const playlist = `${url}/hls/r/stream.m3u8?token=${token}`;
  const workersOfRoom = async () => ((await api.get('/room/r')).body.data.legs as { worker: number }[]).map(({ worker }) => worker);
  const written = () => recordedBytes(resources, '.mkv');
  await follow(playlist, ({ segments }) => segments.length >= 3);

  const [worker = 0] = await workersOfRoom();
  process.kill(node.parts.media.workers()[worker]?.pid ?? 0, 'SIGKILL');
  const other = 1 - worker;
  await eventually('the room is on the other worker', async () => (await workersOfRoom()).join() === String(other));
  const before = await written();
  await eventually('more video is recorded', async () => (await written()) > before + 27_000);
  const { playlists } = await follow(playlist, ({ segments }) => segments.length >= 6);
  const last = playlists.at(-1)?.segments ?? [];
  assert.equal(new Set(last.map(({ discontinuity }) => discontinuity)).size, 1, 'the composer continued');

  assert.equal((await api.delete(`/room/r/component/${recorder}`)).status, 204);
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  const { state, tracks } = reportSchema.parse((await api.get(`/recording/${id}`)).body);
  assert.equal(state, 'finished');
  for (const encoding of ['h264', 'opus']) {
    const files = tracks.filter((track) => track.encoding === encoding).sort((one, next) => (one.offset ?? 0) - (next.offset ?? 0));
    assert.equal(files.length, 2, `a file of ${encoding} before, and one after`);
    const [first, second] = files;
    const gap = (second?.offset ?? Number.NaN) - (first?.offset ?? 0) - (first?.duration ?? 0);
    t.diagnostic(`${Math.round(gap)} ms of ${encoding} are missing`);
    assertPrompt(`recording of ${encoding}`, gap, { promised: promisedPath });
    for (const { file } of files) await checkContent(encoding, join(resources, 'recordings', id, String(file)));
  }
});

async function checkContent(encoding: string, path: string): Promise<void> {
  if (encoding === 'opus') assertNear((await audioSamples(path)).frequency, 660, 40, 'the tone');
  else for (const frame of await colors(path)) assertColor(frame, green);
}
