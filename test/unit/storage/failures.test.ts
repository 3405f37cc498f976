// Upload failures: permanent rejections and retry delays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StorageError } from '../../../node/storage/s3/s3-errors.ts';
import { Failures } from '../../../node/storage/uploads/failures.ts';
import { uploadSettings } from '../../../node/storage/uploads/settings.ts';

const refusal = new StorageError('refused', 'S3 has no bucket x');
const outage = new StorageError('failed', 'S3 cannot be reached');

test('the second consecutive rejection is permanent, and follows within 15 s even after a long outage', () => {
  const failures = new Failures(uploadSettings);
  const outages = Array.from({ length: 10 }, () => failures.add(outage, 0));
  assert.ok(outages.every(({ isRefused, toShow }) => !isRefused && !toShow));
  assert.ok((outages.at(-1)?.delay ?? 0) >= uploadSettings.maxDelay / 2);
  const first = failures.add(refusal, 0);
  assert.deepEqual([first.isRefused, first.isNews, first.toShow], [false, true, false]);
  assert.ok(first.delay <= 15_000 / 5, `${first.delay} ms`);
  const second = failures.add(refusal, 0);
  assert.deepEqual([second.isRefused, second.isNews, second.toShow, second.problem], [true, false, true, 'S3 has no bucket x']);
  assert.ok(second.delay >= uploadSettings.maxDelay / 2, 'from now on the delay is that of other failures');
});

test('a rejection followed by a success or another failure is not permanent', () => {
  const failures = new Failures(uploadSettings);
  failures.add(refusal, 0);
  failures.add(outage, 0);
  assert.equal(failures.add(refusal, 0).isRefused, false);
  failures.clear();
  assert.deepEqual([failures.count, failures.add(refusal, 0).isRefused], [0, false]);
});

test('other failures are shown once they persist', () => {
  const failures = new Failures(uploadSettings);
  assert.equal(failures.add(outage, 1000).toShow, false);
  assert.equal(failures.add(new Error('no'), 1000 + uploadSettings.problemAfter).toShow, true);
  assert.equal(failures.add(Object.assign(new Error('no'), { code: 'EACCES' }), 1000).problem, 'The files cannot be read (EACCES)');
});
