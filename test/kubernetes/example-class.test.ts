// Example of a class: created with kubectl only, streamed and recorded from a teacher in Chromium, and uploaded to S3 after its end.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { css, PagePeer, red } from '../browser/client-kit.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { type StartedBrowser, startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { eventually } from '../kit/eventually.ts';
import { startOperatorFixture } from '../kit/kube/cluster-fixture.ts';
import type { KubeJson } from '../kit/kube/read-objects.ts';
import { framesAt, ratioOf, steadyShare, wholeStream } from '../kit/media/composed-stream.ts';
import { follow, playlistAt } from '../kit/media/hls-viewer.ts';
import { colors, samplesOf } from '../kit/media/recorded-file.ts';
import { startS3Server } from '../kit/processes/s3-server.ts';
import { examples } from './manifests.ts';

const fixture = await startOperatorFixture({ after });
const { server, runner } = fixture;
const s3 = await startS3Server({ after });

const tone = 440;
const roomId = () => fixture.kubectl('get', 'mroom', 'class', '-o', 'jsonpath={.status.roomId}');

/** The encoder of Chromium is not exact. */
const isRed = (frame: readonly number[]) => red.every((value, index) => Math.abs(value - (frame[index] ?? -1000)) < 40);

/** Fails unless most frames are red; a white bar moves over them. */
function assertMostly(frames: readonly (readonly number[])[], what: string): void {
  const near = frames.filter(isRed);
  assert.ok(near.length > 24 && near.length > frames.length / 2, `${what}: ${near.length} of ${frames.length} frames are red`);
}

/** A point without the white bar and without a name, in each frame. */
const pointsOf = async (path: string) => (await framesAt(path)).map((frame) => frame.at(0.5, 0.4));

/** Whether the last segment of a live stream ends red. */
async function endsRed(address: string): Promise<boolean> {
  const text = await playlistAt(address);
  const init = /#EXT-X-MAP:URI="([^"]+)"/.exec(text)?.[1];
  const segment = text.split('\n').findLast((line) => line !== '' && !line.startsWith('#'));
  if (init === undefined || segment === undefined) return false;
  const load = async (name: string) => Buffer.from(await (await fetch(new URL(name, address))).arrayBuffer());
  const path = join(server.dir, 'segment.mp4');
  await writeFile(path, Buffer.concat([await load(init), await load(segment)]));
  return isRed((await pointsOf(path)).at(-1) ?? []);
}

/** Joins with the credentials of the Secret of the Room. */
async function enter(browser: StartedBrowser, pageUrl: string, peer: string): Promise<PagePeer> {
  const { [`${peer}.url`]: url = '', [`${peer}.token`]: token = '' } = await fixture.secret('class-peers');
  return PagePeer.join(await browser.newPage(pageUrl), peer, { token, url });
}

/** Resolves when stream and recording of the room are in S3. */
async function untilKept(api: ApiClient): Promise<KubeJson[]> {
  let recordings: KubeJson[] = [];
  const areKept = async () => {
    ({ recordings } = (await api.get('/recording?details=true')).body);
    return recordings.length === 2 && recordings.every(({ upload }) => upload?.state === 'done');
  };
  await eventually(() => `both are in S3: ${JSON.stringify(recordings)}`, areKept, { every: 100 });
  return recordings;
}

test('nodes with streams, recordings and S3 are Available and show no key', async () => {
  const { bucket, endpoint = '', accessKeyId, secretAccessKey } = s3.place;
  const keys = [`--from-literal=accessKeyId=${accessKeyId}`, `--from-literal=secretAccessKey=${secretAccessKey}`];
  await fixture.kubectl('create', 'secret', 'generic', 'class-s3', ...keys);
  // The storage of the example is replaced by that of the test.
  const text = readFileSync(join(examples, 'class-cluster.yaml'), 'utf8');
  const theirs = { bucket: 'classes', region: 'eu-central-1', endpoint: 'https://s3.example.com' };
  const ours = Object.entries({ bucket, region: 'us-east-1', endpoint }).reduce((manifest, [key, value]) => {
    const line = `      ${key}: ${theirs[key as keyof typeof theirs]}\n`;
    assert.ok(manifest.includes(line), `${line} is not in the example`);
    return manifest.replace(line, `      ${key}: ${value}\n`);
  }, text);
  const file = join(server.dir, 'class-cluster.yaml');
  await writeFile(file, ours);
  await fixture.kubectl('apply', '-f', file);
  await fixture.kubectl('wait', '--for=condition=Available', '--timeout=60s', 'mcl/class');
  const shown = await fixture.kubectl('get', 'mcl,pods,configmaps', '-o', 'yaml');
  assert.ok(!shown.includes(accessKeyId) && !shown.includes(secretAccessKey));
});

test('the stream of the class plays live, and after its end the stream and the recording of each track are in S3', async (t) => {
  await fixture.kubectl('apply', '-f', join(examples, 'class.yaml'));
  await fixture.kubectl('wait', '--for=condition=Ready', '--timeout=60s', 'mroom/class');
  const id = await roomId();
  const node = `http://${runner.pod('class-0').status?.podIP}:8080`;
  const api = await fixture.api('class-0', 'class');
  const { components, peers } = (await api.get(`/room/${id}`)).body.data;
  assert.deepEqual(components.map(({ type }: KubeJson) => type).sort(), ['hls', 'recording']);
  assert.deepEqual(peers.map(({ id: peer }: KubeJson) => peer).sort(), ['pupil', 'teacher']);

  const browser = await startBrowser(t);
  const pageUrl = await servePlainPage(t);
  const [teacher, pupil] = await Promise.all([enter(browser, pageUrl, 'teacher'), enter(browser, pageUrl, 'pupil')]);
  await teacher.publish({ colour: css(red), tone });
  await Promise.all([pupil.sees(teacher, red), pupil.hears(teacher, tone)]);
  const { token } = (await api.post(`/hls/${id}/token`, {})).body.data;
  const address = `${node}/hls/${id}/stream.m3u8?token=${token}`;
  // The stream begins before the video of the teacher, on a busy machine seconds before.
  await eventually('the stream shows the teacher', () => endsRed(address), { every: 500 });
  let before: number | undefined;
  await follow(address, ({ segments }) => {
    const last = segments.at(-1)?.number ?? -1;
    before ??= last;
    return last >= before + 4;
  });
  await eventually(
    () => `the stream is uploaded to S3 during the class:\n${runner.logOf('class-0').slice(-3_000)}`,
    async () => (await s3.names()).some((name) => /\/segment-\d+\.m4s$/.test(name)),
    { every: 100 },
  );

  await fixture.kubectl('delete', '--timeout=60s', '-f', join(examples, 'class.yaml'));
  await untilKept(api);
  const names = await s3.names();
  assert.ok(
    names.every((name) => name.startsWith('school/')),
    names.join(),
  );
  const folder = join(server.dir, 'kept');
  await mkdir(folder);
  for (const name of names) if (!name.endsWith('.json')) await writeFile(join(folder, basename(name)), (await s3.read(name)) ?? '');
  assert.match(readFileSync(join(folder, 'stream.m3u8'), 'utf8'), /#EXT-X-PLAYLIST-TYPE:VOD\n[\s\S]*#EXT-X-ENDLIST\n$/);

  const [init] = names.map((name) => basename(name)).filter((name) => name.startsWith('init-'));
  const stream = await wholeStream(folder, init);
  const seen = await pointsOf(stream);
  // The room ends a moment after the teacher left, on a busy machine seconds later.
  const last = seen.findLastIndex(isRed);
  assertMostly(seen.slice(Math.max(0, last - 96), last + 1), 'the end of the class in the stream');
  const samples = await samplesOf(stream);
  const heard = Array.from({ length: Math.floor(samples.length / 24_000) }, (_, half) =>
    ratioOf(samples.subarray(half * 24_000, (half + 1) * 24_000), tone),
  );
  assert.ok(heard.filter((each) => each > 0.7).length >= 4, `share of the teacher's tone in half seconds of the stream: ${heard}`);

  const tracks = names.filter((name) => /\.(mkv|webm)$/.test(name)).map((name) => join(folder, basename(name)));
  assert.equal(tracks.length, 2, names.join());
  // One of the files is audio.
  const without: string[] = [];
  const framesOf = async (path: string) => ({
    path,
    frames: await colors(path).catch((error: Error) => {
      without.push(error.message);
      return [];
    }),
  });
  const kinds = await Promise.all(tracks.map(framesOf));
  const [video, audio] = kinds.sort((one, other) => other.frames.length - one.frames.length);
  assertMostly(video?.frames ?? [], `the recording (${without})`);
  const recorded = steadyShare((await samplesOf(audio?.path ?? '')).slice(-2 * 48_000, -48_000), tone);
  assert.ok(recorded > 0.9, `${recorded} of the recorded audio is the teacher's tone`);
});
