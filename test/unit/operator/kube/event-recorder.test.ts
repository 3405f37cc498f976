// Event recorder: background writes, series of repetitions, and rate limits.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { EventRecorder, truncateUtf8 } from '../../../../operator/kube/event-recorder.ts';
import { KubeError } from '../../../../operator/kube/http/kube-error.ts';
import type { KubeObject, Resource } from '../../../../operator/kube/objects.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { turns } from '../../../kit/turns.ts';
import { room } from './fake-api.ts';

type Event = KubeObject & { note: string; series?: { count: number; lastObservedTime: string }; [field: string]: unknown };
type Written = { verb: 'create' | 'patch'; event: Event };

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.parse('2026-01-01T00:00:00Z') });
  const written: Written[] = [];
  const state = { failure: undefined as Error | undefined, deleted: false };
  const write = (verb: Written['verb'], event: unknown) => {
    if (state.failure) throw state.failure;
    written.push({ verb, event: structuredClone(event) as Event });
  };
  const client = {
    create: async (_resource: Resource, event: KubeObject) => write('create', event),
    patch: async (_resource: Resource, _ref: unknown, patch: unknown) => {
      if (state.deleted) return undefined;
      write('patch', patch);
      return patch;
    },
  };
  const recorder = new EventRecorder({
    client: client as never,
    controller: 'mediarooms.dev/operator',
    instance: 'operator-1',
    log: silentLog(),
    random: () => 0.5,
  });
  const pass = async (ms: number, step = 1000) => {
    await turns();
    for (let elapsed = 0; elapsed < ms; elapsed += step) {
      t.mock.timers.tick(step);
      await turns();
    }
  };
  const ready = (of = 'standup') => recorder.emit(room(of, '7'), 'Normal', 'RoomCreated', 'Create', `The room is on node mr-0.`);
  return { recorder, written, state, pass, ready };
}

describe('An event recorder', () => {
  it('writes an event with its object in the format of the API', async (t) => {
    const { written, ready } = start(t);
    ready();
    assert.deepEqual(written, []);
    await turns();
    const [{ verb, event } = {} as Written] = written;
    assert.equal(verb, 'create');
    assert.match(event.metadata.name, /^standup\.[0-9a-f]+$/);
    assert.deepEqual(
      { ...event, metadata: { namespace: event.metadata.namespace } },
      {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { namespace: 'default' },
        eventTime: '2026-01-01T00:00:00.000000Z',
        reportingController: 'mediarooms.dev/operator',
        reportingInstance: 'operator-1',
        type: 'Normal',
        reason: 'RoomCreated',
        action: 'Create',
        note: 'The room is on node mr-0.',
        regarding: {
          apiVersion: 'mediarooms.dev/v1alpha2',
          kind: 'Room',
          name: 'standup',
          namespace: 'default',
          uid: 'uid-of-standup',
          resourceVersion: '7',
        },
      },
    );
  });

  it('aggregates repetitions into one series, written at most every 30 s', async (t) => {
    const { written, pass, ready } = start(t);
    for (let i = 0; i < 120; i++) {
      ready();
      await pass(1000);
    }
    await pass(60_000);
    assert.equal(written.filter(({ verb }) => verb === 'create').length, 1);
    const counts = written.flatMap(({ event }) => event.series?.count ?? []);
    assert.ok(counts.length >= 4 && counts.length <= 5, `${counts.length} writes`);
    assert.equal(counts.at(-1), 120);
    assert.deepEqual(
      counts.toSorted((one, other) => one - other),
      counts,
    );
  });

  it('starts a new event after six minutes without a repetition', async (t) => {
    const { written, pass, ready } = start(t);
    ready();
    await pass(6 * 60_000 + 1000, 10_000);
    ready();
    await pass(1000);
    assert.deepEqual(fieldsOf(written, 'verb'), ['create', 'create']);
    assert.notEqual(written[0]?.event.metadata.name, written[1]?.event.metadata.name);
  });

  it('recreates the expired event of a series', async (t) => {
    const { written, state, pass, ready } = start(t);
    ready();
    await pass(1000);
    state.deleted = true;
    ready();
    await pass(40_000);
    assert.deepEqual(
      written.map(({ verb, event }) => [verb, event.series?.count]),
      [
        ['create', undefined],
        ['create', 2],
      ],
    );
  });

  it('writes the events of an API server outage afterwards', async (t) => {
    const { written, state, pass, ready } = start(t);
    state.failure = new KubeError({ status: 0, reason: 'Unreachable', message: 'away' });
    for (const name of ['a', 'b', 'a']) ready(name);
    await pass(60_000);
    state.failure = undefined;
    await pass(45_000);
    assert.deepEqual(
      written.map(({ event }) => [(event.regarding as { name: string }).name, event.series?.count]),
      [
        ['a', 2],
        ['b', undefined],
      ],
    );
  });

  it('drops and counts rejected events and events beyond its limit', async (t) => {
    const { recorder, written, state, pass, ready } = start(t);
    state.failure = new KubeError({ status: 403, reason: 'Forbidden', message: 'being terminated' });
    ready('refused');
    await pass(1000);
    assert.equal(recorder.dropped, 1);
    state.failure = new KubeError({ status: 0, reason: 'Unreachable', message: 'away' });
    for (let i = 0; i < 1200; i++) ready(`room-${i}`);
    assert.equal(recorder.dropped, 201);
    assert.deepEqual(written, []);
  });

  it('writes a burst of a hundred events, then ten per second', async (t) => {
    const { written, pass, ready } = start(t);
    for (let i = 0; i < 200; i++) ready(`room-${i}`);
    await pass(100, 100);
    assert.ok(written.length >= 100 && written.length <= 102, `${written.length} at once`);
    await pass(5000, 100);
    assert.ok(written.length >= 148 && written.length <= 153, `${written.length} after 5 s`);
  });

  it('writes pending events and open series when it is closed', async (t) => {
    const { recorder, written, pass, ready } = start(t);
    ready();
    await pass(1000);
    ready();
    ready();
    await recorder.close();
    ready('too-late');
    await pass(1000);
    assert.deepEqual(
      written.map(({ event }) => event.series?.count),
      [undefined, 3],
    );
  });

  it('waits at most 2 s when it is closed', async (t) => {
    const { recorder, state, pass } = start(t);
    state.failure = undefined;
    const hanging = new EventRecorder({
      client: { create: () => new Promise(() => {}), patch: () => new Promise(() => {}) } as never,
      controller: 'c',
      instance: 'i',
      log: silentLog(),
    });
    hanging.emit(room('a', '1'), 'Warning', 'Bad', 'Try', 'It hangs.');
    await turns();
    let closed = false;
    const closing = hanging.close().then(() => {
      closed = true;
    });
    await pass(1900, 100);
    assert.equal(closed, false);
    await pass(200, 100);
    await closing;
    await recorder.close();
  });

  it('truncates a note at a kilobyte, between two characters', async (t) => {
    const { recorder, written } = start(t);
    recorder.emit(room('a', '1'), 'Warning', 'R'.repeat(200), 'Act', `x${'😀'.repeat(400)}`);
    await turns();
    assert.ok(written[0]);
    const { note, reason } = written[0].event;
    assert.equal(Buffer.byteLength(String(note)), 1021);
    assert.ok(String(note).isWellFormed() && String(reason).length === 128);
    assert.deepEqual([truncateUtf8('äöü', 6), truncateUtf8('äöü', 5), truncateUtf8('', 5)], ['äöü', 'äö', '']);
  });
});
