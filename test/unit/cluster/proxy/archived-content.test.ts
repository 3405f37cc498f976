// Recordings that are only in the archive: when it is queried, lists, and behavior if it is unavailable.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../../../api/errors.ts';
import type { RecordingSummary } from '../../../../api/recording.ts';
import { ClusterContent } from '../../../../node/cluster/proxy/cluster-content.ts';
import type { ContentRequest, RecordingArchive } from '../../../../node/rooms/services/content.ts';
import { makeDispatcher } from '../../../kit/fakes/dispatcher.ts';
import { FakeNetwork } from '../../../kit/fakes/fake-links.ts';
import { makeContent } from '../../../kit/media/content.ts';
import { addFiles, makeResources } from '../../../kit/processes/resources-folder.ts';
import { silentLog } from '../../../kit/silent-log.ts';

const idOf = (second: number) => `r-20261121T1200${String(second).padStart(2, '0')}000Z`;

function summary(second: number, more: Partial<RecordingSummary> = {}): RecordingSummary {
  const startTime = `2026-11-21T12:00:${String(second).padStart(2, '0')}.000Z`;
  return { id: idOf(second), type: 'recording', roomId: 'r', node: 'svc@x', state: 'finished', startTime, endTime: null, ...more };
}

class MemoryArchive implements RecordingArchive {
  readonly kept = new Set<number>();
  readonly asked: string[] = [];
  down = false;

  async open({ folder, file }: ContentRequest) {
    this.#check(`${folder}/${file}`);
    if (![...this.kept].some((second) => idOf(second) === folder)) return undefined;
    return { status: 200, headers: {}, body: Readable.from(['archived']) };
  }

  async list() {
    this.#check('list');
    return [...this.kept].map(idOf);
  }

  async describe(ids: readonly string[]) {
    return [...this.kept].map((second) => summary(second, { upload: { state: 'done' } })).filter(({ id }) => ids.includes(id));
  }

  async remove(id: string) {
    this.#check(`remove ${id}`);
    return [...this.kept].some((second) => idOf(second) === id && this.kept.delete(second));
  }

  #check(what: string): void {
    this.asked.push(what);
    if (this.down) throw new ServiceError('unavailable', 'The recordings in S3 cannot be read: it is down');
  }
}

async function setup(t: TestContext) {
  const network = new FakeNetwork();
  const archive = new MemoryArchive();
  const nodes = await Promise.all(
    ['svc@a', 'svc@b'].map(async (name) => {
      const links = network.join(name);
      const resources = await makeResources(t);
      const content = new ClusterContent({
        links,
        dispatcher: makeDispatcher({ links }),
        local: makeContent(resources),
        archive,
        http: { fetch: () => Promise.reject(new ServiceError('node_unreachable', `Node of ${name} cannot be reached`)) },
        log: silentLog(),
        locator: { ownerOf: () => undefined },
        members: { get: (node) => ({ name: node, internalAddress: '127.0.0.1:1', address: 'x', tls: false }) },
      });
      return { content, links, resources };
    }),
  );
  network.connectAll();
  const [here, there] = nodes;
  assert.ok(here && there);
  const open = async (folder: string, more: Partial<ContentRequest> = {}) => {
    const { signal } = new AbortController();
    const plain = { kind: 'recording', folder, file: 'report.json', method: 'GET', range: undefined, ifRange: undefined } as const;
    const { body } = await here.content.open({ ...plain, client: '127.0.0.1', forwarded: false, signal, ...more });
    return body && text(body);
  };
  return { archive, here, there, open };
}

const report = (second: number, more: Partial<RecordingSummary> = {}) => JSON.stringify({ ...summary(second, more), tracks: [] });

test('the archive is queried only if no node has the recording or its node is unreachable', async (t) => {
  const { archive, here, there, open } = await setup(t);
  await addFiles(here.resources, { [`recordings/${idOf(1)}/report.json`]: 'here' });
  await addFiles(there.resources, { [`recordings/${idOf(2)}/report.json`]: 'there' });
  for (const second of [1, 2, 3]) archive.kept.add(second);
  assert.equal(await open(idOf(1)), 'here');
  await assert.rejects(open(idOf(3), { forwarded: true }), { code: 'not_found' });
  await assert.rejects(open('room', { kind: 'hls', file: 'index.m3u8' }), { code: 'not_found' });
  assert.deepEqual(archive.asked, []);
  assert.equal(await open(idOf(2)), 'archived');
  assert.equal(await open(idOf(3)), 'archived');
  await assert.rejects(open(idOf(4)), { code: 'not_found' });
  there.links.frozen = true;
  assert.equal(await open(idOf(3)), 'archived');
  await assert.rejects(open(idOf(4)), { code: 'node_unreachable' });
  archive.down = true;
  await assert.rejects(open(idOf(3)), { code: 'unavailable' });
});

test('lists contain recordings of nodes and archive once each, newest first, and name unresponsive sources', async (t) => {
  const { archive, here, there } = await setup(t);
  const pending = { state: 'running', upload: { state: 'pending', problem: 'why' } } as const;
  await addFiles(here.resources, {
    [`recordings/${idOf(1)}/report.json`]: report(1, pending),
    'recordings/odd/report.json': '{"id":"odd"}',
  });
  await addFiles(there.resources, { [`recordings/${idOf(2)}/report.json`]: report(2, { type: 'hls' }) });
  for (const second of [1, 3]) archive.kept.add(second);
  const all = [summary(3, { upload: { state: 'done' } }), summary(2, { type: 'hls' }), summary(1, pending)];
  assert.deepEqual(await here.content.describeRecordings(), { recordings: all, incomplete: [] });
  assert.deepEqual((await here.content.listRecordings()).ids, ['odd', idOf(1), idOf(2), idOf(3)]);
  archive.down = true;
  there.links.frozen = true;
  assert.deepEqual(await here.content.describeRecordings(), { recordings: [summary(1, pending)], incomplete: ['s3', 'svc@b'] });
});

test('a recording is deleted on nodes and in the archive, but stays archived while a node that may write it is unresponsive', async (t) => {
  const { archive, here, there } = await setup(t);
  await addFiles(there.resources, { [`recordings/${idOf(1)}/report.json`]: report(1) });
  for (const second of [1, 2]) archive.kept.add(second);
  there.links.frozen = true;
  await assert.rejects(here.content.deleteRecording(idOf(1)), { code: 'node_unreachable' });
  assert.deepEqual(archive.asked, []);
  there.links.frozen = false;
  await here.content.deleteRecording(idOf(1));
  await here.content.deleteRecording(idOf(2));
  assert.equal(archive.kept.size, 0);
  await assert.rejects(here.content.deleteRecording(idOf(2)), { code: 'not_found' });
});
