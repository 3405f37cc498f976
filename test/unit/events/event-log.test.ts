// Event log: kept events, reported gaps, page sizes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RoomEvent } from '../../../api/events.ts';
import { EventLog } from '../../../node/events/event-log.ts';
import { silentLog } from '../../kit/silent-log.ts';

function event(seq: number, metadata?: string): RoomEvent {
  const time = '2026-11-21T00:00:00.000Z';
  return {
    id: `e${seq}`,
    type: 'PeerAdded',
    time,
    seq,
    node: 'svc@a',
    incarnation: 'i',
    roomId: 'r',
    ...(metadata !== undefined && { metadata }),
  };
}

function filled(count: number, options: { capacity?: number; bytes?: number } = {}, metadata?: string): EventLog {
  const log = new EventLog(silentLog(), { node: 'svc@a', ...options });
  for (let seq = 1; seq <= count; seq += 1) log.publish(event(seq, metadata));
  return log;
}

test('every start of a node is a separate source', () => {
  const [one, other] = [filled(0), filled(0)];
  assert.match(one.source, /^svc@a#[\w-]{12}$/);
  assert.notEqual(one.source, other.source);
});

test('events after an index are returned in order with their indexes', async () => {
  const log = filled(5);
  const page = await log.since(log.source, 3);
  assert.deepEqual(
    page?.events.map(({ index, event: { id } }) => [index, id]),
    [
      [4, 'e4'],
      [5, 'e5'],
    ],
  );
  assert.deepEqual([page?.from, page?.upTo, page?.last, page?.missing], [3, 5, 5, false]);
  assert.deepEqual([log.after(5).events, log.after(5).missing], [[], false]);
  assert.equal(await log.since('svc@a#other', 0), undefined);
});

test('only the last events are kept, by number and by bytes, and lost older ones are reported', () => {
  const few = filled(30, { capacity: 10 });
  assert.deepEqual([few.after(20).missing, few.after(19).missing, few.after(0).from], [false, true, 20]);
  const small = filled(30, { bytes: 5_000 }, 'x'.repeat(1_000));
  const page = small.after(0);
  assert.equal(page.missing, true);
  assert.ok(page.events.length >= 3 && page.events.length <= 5, `${page.events.length}`);
  assert.equal(page.upTo, 30);
});

test('an index that was never assigned gets all kept events and reports missing ones', () => {
  const page = filled(3).after(7);
  assert.deepEqual([page.from, page.upTo, page.missing], [0, 3, true]);
});

test('pages are limited by number and by bytes, and an event larger than a page is returned alone', () => {
  const log = filled(1_200);
  assert.equal(log.after(0).events.length, 500);
  assert.equal(log.after(0, 1).events.length, 1);
  assert.equal(filled(100, {}, 'x'.repeat(16_000)).after(0).events.length, 16);
  assert.equal(filled(2, {}, 'x'.repeat(300_000)).after(0).events.length, 1);
});

test('a failing listener does not block others', () => {
  const log = filled(0);
  const heard: number[] = [];
  log.subscribe(() => {
    throw new Error('no');
  });
  const stop = log.subscribe(({ index }) => heard.push(index));
  log.publish(event(1));
  stop();
  log.publish(event(2));
  assert.deepEqual(heard, [1]);
});
