// HLS at another node than the owner: live parts, and saved streams after the end of their room.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { download, follow } from '../kit/media/hls-viewer.ts';
import { makeVideo } from '../kit/media/media-files.ts';
import { assertColor, colors } from '../kit/media/recorded-file.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';

const green = [30, 200, 30];
const small = { width: 320, height: 180, segmentDuration: 1 };

test('a stream is available at the other node, also after the end of its room if it was saved, and otherwise not', async (t) => {
  const resources = await makeResources(t);
  await makeVideo(join(resources, 'file_component_sources/green.h264'), '0x1EC81E', 80);
  const { owner, nonOwner, api } = await startNodePair(t, {
    both: { SVC_COMPONENTS_USED: 'file hls' },
    owner: { SVC_RESOURCES_BASE_PATH: resources },
  });
  const begin = async (roomId: string, persistent: boolean): Promise<string> => {
    await owner.node.parts.rooms.createRoom({ roomId });
    const file = await api.post(`/room/${roomId}/component`, { type: 'file', options: { filePath: 'green.h264' } });
    assert.equal(file.status, 201);
    const { status, body } = await postWhenIdle(api, `/room/${roomId}/component`, { type: 'hls', options: { ...small, persistent } });
    assert.equal(status, 201, JSON.stringify(body));
    return String((await api.post(`/hls/${roomId}/token`, {})).body.data.token);
  };
  const ask = async (path: string) => (await fetch(`${nonOwner.url}${path}`)).status;
  const recordings = async () => (await api.get('/recording')).body.data as string[];

  const kept = await begin('kept', true);
  await follow(`${nonOwner.url}/hls/kept/stream.m3u8?token=${kept}`, ({ segments }) => segments.length >= 4);
  const { busy } = (await owner.api.get('/health')).body.data;
  assert.deepEqual(busy, { rooms: 1, peers: 0, calls: 0, streams: 1, recordings: 0, files: 1 }, 'viewers of the other node count');
  const zipped = await fetch(`${nonOwner.url}/hls/kept/index.m3u8?token=${kept}`);
  assert.deepEqual(
    ['content-encoding', 'vary', 'cache-control'].map((name) => zipped.headers.get(name)),
    ['gzip', 'accept-encoding', 'public, max-age=1'],
  );
  assert.match(await zipped.text(), /stream\.m3u8\?token=/);
  assert.equal(await ask(`/hls/kept/stream.m3u8?token=${kept}&_HLS_msn=9999999999`), 400);
  assert.equal(await ask(`/hls/kept/report.json?token=${kept}`), 404);
  assert.equal((await api.delete('/room/kept')).status, 204);
  await eventually('the stream is saved', async () => (await recordings()).length > 0, { every: 100 });

  const endedToken = await begin('gone', false);
  await follow(`${nonOwner.url}/hls/gone/stream.m3u8?token=${endedToken}`, ({ segments }) => segments.length >= 2);
  assert.equal((await api.delete('/room/gone')).status, 204);
  // Active viewers still receive the end at any node.
  await follow(`${nonOwner.url}/hls/gone/stream.m3u8?token=${endedToken}`, ({ ended }) => ended);
  const [id = '', ...others] = await recordings();
  assert.deepEqual([id.startsWith('kept-'), others], [true, []]);
  assert.equal(await ask(`/hls/kept/index.m3u8?token=${endedToken}`), 403);
  assert.equal(await ask(`/recording/${id}/index.m3u8?token=${endedToken}`), 403);
  assert.equal(await ask(`/recording/${id}/index.m3u8?token=${kept}x`), 401);
  const path = await download(t, `${nonOwner.url}/recording/${id}/index.m3u8?token=${kept}`);
  const shown = await colors(path);
  // Of 24 per second; a loaded host drops some.
  assert.ok(shown.length >= 3 * 12, `${shown.length} frames`);
  assertColor(shown.at(-12), green);
});
