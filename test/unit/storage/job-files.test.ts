// Job files: storages of finished uploads, readable by their owner only, and deleted with the recording.
import assert from 'node:assert/strict';
import { readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Job, JobFiles } from '../../../node/storage/uploads/job-file.ts';
import { makeResources } from '../../kit/processes/resources-folder.ts';

const job: Job = {
  id: 'r-20261121T120000005Z',
  kind: 'recording',
  roomId: 'r',
  incarnation: 'i',
  componentId: 'c',
  webhookUrl: null,
  place: { bucket: 'kept', accessKeyId: 'id', secretAccessKey: 'secret' },
  folder: ['recordings', 'r-20261121T120000005Z'],
  owner: 'one',
  finishedAt: 1,
  discarded: false,
};

test('a kept job is found by the next process and deleted with its recording, and files being written stay', async (t) => {
  const resources = await makeResources(t);
  const folder = join(resources, 'uploads', 'kept');
  await new JobFiles(resources).keep(job);
  const next = new JobFiles(resources);
  assert.deepEqual(await next.kept(job.id), job);
  assert.equal(await next.kept('r-20261121T120000006Z'), undefined);
  assert.equal((await stat(join(folder, `${job.id}.json`))).mode & 0o777, 0o600);
  const [fresh, old] = ['.other.fresh', '.other.old'];
  for (const name of [fresh, old]) await writeFile(join(folder, name), 'half');
  const longAgo = new Date(Date.now() - 3600_000);
  await utimes(join(folder, old), longAgo, longAgo);
  await next.forget(async (id) => id === job.id);
  assert.deepEqual((await readdir(folder)).sort(), [fresh, `${job.id}.json`]);
  await next.forget(async () => false);
  assert.deepEqual([await readdir(folder), await next.kept(job.id)], [[fresh], undefined]);
  assert.deepEqual(await next.abandoned(), { jobs: [], unreadable: [] });
});
