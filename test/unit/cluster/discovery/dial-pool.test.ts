// Dial pool: shared dials, limited concurrency, timeout.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DialPool } from '../../../../node/cluster/discovery/dial-pool.ts';
import { FakeConnector } from '../../../kit/fakes/fake-connector.ts';
import { mockClock, settle } from './clock.ts';

test('concurrent dials of one node share one attempt', async () => {
  const connector = new FakeConnector('svc@a');
  const pool = new DialPool(connector);
  connector.held = true;
  const both = [pool.dial('svc@b', false), pool.dial('svc@b', true)];
  connector.release();
  assert.deepEqual(await Promise.all(both), [true, true]);
  assert.deepEqual(connector.dialled, ['svc@b']);
});

test('the number of concurrent dials is limited, and repeated dials are last', async () => {
  const connector = new FakeConnector('svc@a');
  const pool = new DialPool(connector, { concurrent: 2, deadline: 1_000 });
  connector.held = true;
  const dials = [pool.dial('svc@b', false), pool.dial('svc@c', true), pool.dial('svc@d', true), pool.dial('svc@e', false)];
  await settle();
  assert.deepEqual(connector.dialled, ['svc@b', 'svc@c']);
  connector.release();
  await Promise.all(dials);
  assert.deepEqual(connector.dialled, ['svc@b', 'svc@c', 'svc@e', 'svc@d']);
  assert.equal(connector.busiest, 2);
});

test('a dial that hangs or throws counts as failed and frees its slot', async (t) => {
  const clock = mockClock(t);
  const connector = new FakeConnector('svc@a');
  const pool = new DialPool(connector, { concurrent: 1, deadline: 1_000 });
  connector.held = true;
  const hangs = pool.dial('svc@b', false);
  const next = pool.dial('svc@c', false);
  await clock.pass(1_000);
  assert.equal(await hangs, false);
  assert.deepEqual(connector.dialled, ['svc@b', 'svc@c']);
  connector.release();
  assert.equal(await next, true);
  const throwing = new DialPool({ self: 'svc@a', nodes: () => [], connect: () => Promise.reject(new Error('no')) });
  assert.equal(await throwing.dial('svc@b', false), false);
});

test('close fails waiting and running dials and starts no new ones', async () => {
  const connector = new FakeConnector('svc@a');
  const pool = new DialPool(connector, { concurrent: 1, deadline: 1_000 });
  connector.held = true;
  const dials = [pool.dial('svc@b', false), pool.dial('svc@c', false)];
  pool.close();
  assert.deepEqual(await Promise.all(dials), [false, false]);
  connector.release();
  await settle();
  assert.equal(await pool.dial('svc@d', false), false);
  assert.deepEqual(connector.dialled, ['svc@b']);
});
