// Streams: low-latency HLS through the Ingress, recordings and persistent streams in an external S3 storage, also if pods are removed.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { blue, red } from '../browser/client-kit.ts';
import { type KubeJson, readObject } from '../kit/kube/read-objects.ts';
import { download, follow } from '../kit/media/hls-viewer.ts';
import { colors } from '../kit/media/recorded-file.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startS3Server } from '../kit/processes/s3-server.ts';
import { Conversation, people } from './conversation.ts';
import { openDoor } from './ingress-client.ts';
import { Installed, minValues, settle } from './installed.ts';
import { tell } from './timings.ts';

const installed = await Installed.prepare({ after });
const release = 'rooms';
const spec = {
  drain: { timeoutSeconds: 1 },
  // Only arrival counts, also with one or two cores. The external network of the test uses private addresses.
  config: { componentsUsed: ['hls', 'recording'], avMaxCpu: 8, allowPrivateAddresses: true },
};
const { hub, server } = installed.cluster;
/** External S3 server with a separate address. */
const s3 = await startS3Server({ after }, { address: new URL(server.url).hostname, wrap: hub.wrap });
const { bucket, endpoint = '', accessKeyId, secretAccessKey } = s3.place;
const door = await openDoor({ after }, installed);
await settle(installed, async () => {
  const forRooms = { 'mediarooms.dev/room-secret': 'true' };
  await installed.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's3', labels: forRooms },
    stringData: { accessKeyId, secretAccessKey },
  });
  await installed.install(release, [...minValues, '--set-json', `mediaCluster.spec.drain=${JSON.stringify(spec.drain)}`]);
  await change(spec);
  await installed.settled(release);
});

/** Patches the spec of the MediaCluster. */
async function change(more: object): Promise<void> {
  await installed.kubectl('patch', 'mediacluster', release, '--type=merge', '-p', JSON.stringify({ spec: more }));
}

async function degraded(): Promise<KubeJson> {
  const { status } = await installed.get('mediacluster', release);
  return status.conditions.find(({ type }: KubeJson) => type === 'Degraded');
}

/** Whether a pixel shows one of the two peers. */
function isOfPeople(colour: readonly number[] | undefined): boolean {
  return [red, blue].some((wanted) => wanted.every((value, channel) => Math.abs(value - (colour?.[channel] ?? -1000)) < 40));
}

test('recordings without storage are reported, and a Room with S3 keys in a Secret uploads its recording while it is live', async (t) => {
  assert.deepEqual([(await degraded()).status, (await degraded()).reason], ['True', 'RecordingsNotKept']);
  const place = { bucket, endpoint, region: 'us-east-1', pathPrefix: 'own', secretRef: { name: 's3' } };
  const wanted = { ...people, components: [{ name: 'all', recording: { s3: place } }] };
  const conversation = await Conversation.start(t, installed, 'recorded', {}, wanted);
  assert.doesNotMatch(JSON.stringify(await installed.get('room', 'recorded')), new RegExp(secretAccessKey));
  await installed.cluster.until('parts of the recording are in S3', async () =>
    (await s3.names()).some((name) => name.startsWith('own/recorded-')),
  );
  await conversation.assertUndisturbed();
  await installed.kubectl('delete', 'room', 'recorded', '--timeout=60s');
  const report = await installed.cluster.until('the whole recording is in S3', async () => {
    const name = (await s3.names()).find((each) => each.endsWith('/report.json'));
    const read: KubeJson = JSON.parse(String(name && (await s3.read(name))));
    return read.upload?.state === 'done' ? { name, ...read } : undefined;
  });
  const folder = await makeResources(t);
  const names = (await s3.names()).filter((name) => /\.(webm|mkv)$/.test(name));
  assert.equal(names.length, 4, names.join());
  assert.ok(names.every((name) => name.startsWith(report.name.replace('report.json', ''))));
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name.replaceAll('/', '_'));
      await writeFile(path, (await s3.read(name)) ?? '');
      return colors(path).catch(() => []);
    }),
  );
  const frames = found.filter((each) => each.length > 0);
  assert.equal(frames.length, 2);
  for (const each of frames) assert.ok(isOfPeople(each.at(-1)), String(each.at(-1)));
});

test('a stream plays part by part through the Ingress at any pod, and completely from another pod after its pod is removed during the upload', async (t) => {
  await change({ config: { ...spec.config, s3: { bucket, endpoint, region: 'us-east-1' } }, secrets: { s3: { name: 's3' } } });
  await installed.settled(release);
  assert.equal((await degraded()).status, 'False');
  const options = { persistent: true, width: 320, height: 180, segmentDuration: 1, layout: 'single' };
  const wanted = { ...people, components: [{ name: 'stream', hls: options }] };
  const conversation = await Conversation.start(t, installed, 'shown', {}, wanted);
  const { token } = (await installed.rest(release, 'POST', '/hls/shown/token', {})).body.data;
  const { status } = await installed.get('room', 'shown');
  const paths = (await installed.pods(release)).map(({ metadata }) => `/n/${metadata.labels['mediarooms.dev/index']}`);
  assert.equal(paths.length, 2);
  const followed = await Promise.all(
    paths.map((path) => {
      let first: number | undefined;
      return follow(`${door}${path}/hls/shown/stream.m3u8?token=${token}`, ({ segments }) => {
        const last = segments.at(-1)?.number ?? 0;
        first ??= last;
        return last >= first + 6;
      });
    }),
  );
  for (const { playlists, maxWait } of followed) {
    tell('longest pause between two playlists of a stream through Ingress', maxWait);
    // Four parts in a segment of one second.
    assert.ok(playlists.length >= 12, `${playlists.length} playlists`);
  }
  await conversation.flows();

  await installed.kubectl('delete', 'pod', status.node, '--timeout=120s');
  const id = await installed.cluster.until('it is listed', async () => {
    const { body } = await installed.rest(release, 'GET', '/recording');
    // The recreated Room has another stream; ids sort by time.
    return (body.data as string[]).filter((each) => each.startsWith('shown-')).sort()[0];
  });
  const path = await download(t, `${door}/recording/${id}/index.m3u8?token=${token}`);
  const frames = await colors(path);
  tell('seconds of a kept stream whose pod was removed', (frames.length / 24) * 1_000);
  // Twelve parts (three seconds) were played before the peers were checked.
  assert.ok(frames.length >= 4 * 24, `${frames.length} frames`);
  assert.ok(isOfPeople(frames.at(-24)), String(frames.at(-24)));
  await installed.cluster.until('the Room is Ready elsewhere', async () => {
    const { status: now } = (await readObject(installed.cluster.server, 'rooms', 'shown', installed.namespace)) as KubeJson;
    return now.phase === 'Ready' && now.incarnation !== status.incarnation;
  });
});
