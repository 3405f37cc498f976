// Reflector with an API server that breaks connections, expires versions, stalls and sends invalid data.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { type KubeObject, keyOf, resources, type Stored } from '../../../../operator/kube/objects.ts';
import { Reflector, type ReflectorOptions } from '../../../../operator/kube/reflector.ts';
import { eventually } from '../../../kit/eventually.ts';
import { recordedLog } from '../../../kit/recorded-log.ts';
import { type Asked, connect, json, room, startFakeApi, status } from './fake-api.ts';

type Room = Stored<KubeObject>;
type Watch = { asked: Asked; response: ServerResponse; send: (type: string, object: object) => void };

/** Script of the API server: responses of lists and behavior of each watch, counted from 0. */
type Script = {
  list: (asked: Asked, count: number) => Room[] | undefined;
  /** A Status instead of the list. */
  rejects?: (asked: Asked) => { code: number } | undefined;
  watch?: (watch: Watch, count: number) => void;
};

async function start(t: TestContext, script: Script, options: Partial<ReflectorOptions<KubeObject>> = {}) {
  const notified: string[] = [];
  const listeners = new Set<() => void>();
  let lists = 0;
  let watches = 0;
  const open: Watch[] = [];
  const api = await startFakeApi(t, (asked, response) => {
    const rejected = script.rejects?.(asked);
    if (rejected) return json(response, rejected, rejected.code);
    if (!asked.query.has('watch')) {
      const items = script.list(asked, lists++);
      if (items) json(response, { metadata: { resourceVersion: '100' }, items });
      else json(response, status(500, 'InternalError', 'etcd is unavailable'), 500);
      return;
    }
    const send = (type: string, object: object) => void response.write(`${JSON.stringify({ type, object })}\n`);
    const watch = { asked, response, send };
    open.push(watch);
    if (script.watch) script.watch(watch, watches);
    else response.writeHead(200).flushHeaders();
    watches += 1;
  });
  const client = await connect(t, { kubeconfig: api.kubeconfig, random: () => 0 });
  const { log, of } = recordedLog();
  const tell = (text: string) => {
    notified.push(text);
    for (const check of [...listeners]) check();
  };
  const reflector = new Reflector<KubeObject>({
    client,
    resource: resources.rooms,
    namespaces: [],
    log,
    onChange: (object, old) => tell(`${old ? 'changed' : 'added'} ${keyOf(object)} ${object.metadata.resourceVersion}`),
    onDelete: (object) => tell(`deleted ${keyOf(object)} ${object.metadata.resourceVersion}`),
    random: () => 0,
    ...options,
  });
  const end = new AbortController();
  const running = reflector.run(end.signal);
  const stop = () => {
    end.abort();
    return running;
  };
  t.after(stop);
  /** Resolves after that number of changes. */
  const notifiedTimes = (count: number) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (notified.length < count) return;
        listeners.delete(check);
        resolve();
      };
      listeners.add(check);
      check();
    });
  return {
    api,
    reflector,
    notified,
    notifiedTimes,
    open,
    of,
    stop,
    signal: end.signal,
    watchesAsked: () => api.asked.filter(({ query }) => query.has('watch')),
  };
}

const ok = ({ response }: Watch) => response.writeHead(200);
const version = ({ query }: Asked) => query.get('resourceVersion');

describe('A reflector', { concurrency: true }, () => {
  it('lists once, then follows additions, changes, deletions and bookmarks', async (t) => {
    const { api, reflector, notified, notifiedTimes, open, watchesAsked } = await start(t, {
      list: () => [room('a', '1'), room('b', '2')],
      watch: (watch, count) => {
        ok(watch);
        if (count > 0) return watch.send('ADDED', room('d', '400'));
        watch.send('ADDED', room('c', '101'));
        watch.send('MODIFIED', room('a', '102'));
        watch.send('DELETED', room('b', '103'));
        watch.send('BOOKMARK', { metadata: { resourceVersion: '300' } });
      },
    });
    await notifiedTimes(5);
    assert.deepEqual(notified, [
      'added default/a 1',
      'added default/b 2',
      'added default/c 101',
      'changed default/a 102',
      'deleted default/b 103',
    ]);
    assert.deepEqual(reflector.list().map(keyOf).sort(), ['default/a', 'default/c']);
    assert.equal(reflector.get('default/a')?.metadata.resourceVersion, '102');
    open[0]?.response.end();
    await notifiedTimes(6);
    assert.deepEqual(watchesAsked().map(version), ['100', '300']);
    const [list, watch] = api.asked;
    assert.equal(String(list?.query), 'limit=500');
    const seconds = Number(watch?.query.get('timeoutSeconds'));
    assert.ok(seconds >= 300 && seconds <= 600);
    assert.equal(watch?.query.get('allowWatchBookmarks'), 'true');
  });

  it('relists after HTTP 410, and reports only missed changes', async (t) => {
    const { reflector, notified, notifiedTimes, watchesAsked } = await start(t, {
      list: (_asked, count) =>
        count === 0 ? [room('a', '1'), room('b', '2'), room('c', '3')] : [room('a', '1'), room('c', '9'), room('d', '8')],
      watch: (watch, count) => {
        if (count > 0) return ok(watch).flushHeaders();
        json(watch.response, status(410, 'Expired', 'too old resource version: 100 (200)'), 410);
      },
    });
    await notifiedTimes(6);
    assert.deepEqual(notified.slice(3), ['deleted default/b 2', 'changed default/c 9', 'added default/d 8']);
    assert.equal(reflector.list().length, 3);
    assert.equal(watchesAsked().length, 1);
  });

  it('relists after an Expired event in the stream', async (t) => {
    const { notified, notifiedTimes, of } = await start(t, {
      list: (_asked, count) => (count === 0 ? [room('a', '1')] : []),
      watch: (watch, count) => {
        ok(watch).flushHeaders();
        if (count === 0) watch.send('ERROR', status(410, 'Expired', 'too old resource version'));
      },
    });
    await notifiedTimes(2);
    assert.deepEqual(notified, ['added default/a 1', 'deleted default/a 1']);
    assert.deepEqual(of('warn', 'error'), []);
  });

  it('sends few requests if every version expires immediately', async (t) => {
    const { api } = await start(t, {
      list: () => [],
      watch: ({ response }) => json(response, status(410, 'Expired', 'too old'), 410),
    });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    assert.ok(api.asked.length <= 8, `${api.asked.length} requests in 3 s`);
  });

  it('sends few requests if every watch ends immediately', async (t) => {
    const { api } = await start(t, { list: () => [], watch: (watch) => void ok(watch).end() });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    assert.ok(api.asked.length <= 4, `${api.asked.length} requests in 3 s`);
  });

  it('retries with backoff while the API server fails', async (t) => {
    const { api, reflector, notifiedTimes, of } = await start(t, {
      list: (_asked, count) => (count < 2 ? undefined : [room('a', '1')]),
      watch: (watch, count) =>
        count === 0 ? json(watch.response, status(500, 'InternalError', 'no'), 500) : void ok(watch).flushHeaders(),
    });
    await notifiedTimes(1);
    assert.equal(reflector.synced, true);
    const [first, second, third] = api.asked.map(({ at }) => at);
    assert.ok((second ?? 0) - (first ?? 0) >= 790 && (third ?? 0) - (second ?? 0) >= 1590);
    // The first failure is logged; repetitions would hide other lines.
    assert.equal(of('warn').length, 1);
  });

  it('resumes at its version if the stream breaks within a line', async (t) => {
    const { notified, notifiedTimes, watchesAsked } = await start(t, {
      list: () => [],
      watch: (watch, count) => {
        ok(watch);
        if (count > 0) return watch.send('ADDED', room('b', '102'));
        watch.send('ADDED', room('a', '101'));
        watch.response.write('{"type":"ADDED","object":{"metadata":{"name":"b","reso', () => watch.response.destroy());
      },
    });
    await notifiedTimes(2);
    assert.deepEqual(notified, ['added default/a 101', 'added default/b 102']);
    assert.deepEqual(watchesAsked().map(version), ['100', '101']);
  });

  it('restarts an idle watch', async (t) => {
    const { notified, notifiedTimes, of } = await start(
      t,
      {
        list: () => [],
        watch: (watch, count) => {
          ok(watch).flushHeaders();
          // A slow machine may miss the message of the second watch too.
          if (count > 0) watch.send('ADDED', room('a', '101'));
        },
      },
      { idleMs: 150 },
    );
    await notifiedTimes(1);
    assert.equal(notified[0], 'added default/a 101');
    assert.match(String(of('warn')[0]?.error), /sent nothing for 150 ms/);
  });

  it('relists after unreadable data', async (t) => {
    const { notified, notifiedTimes, watchesAsked } = await start(t, {
      list: (_asked, count) => (count === 0 ? [] : [room('a', '101')]),
      watch: (watch) => {
        ok(watch);
        watch.response.write('this is no JSON\n');
      },
    });
    await notifiedTimes(1);
    assert.deepEqual(notified, ['added default/a 101']);
    assert.deepEqual(watchesAsked().map(version), ['100', '100', '100']);
  });

  it('rejects an endless line and an event without an object', async (t) => {
    const { of, api } = await start(t, {
      list: () => [],
      watch: (watch, count) => {
        ok(watch);
        if (count === 0) watch.send('ADDED', { spec: {} });
        else watch.response.write('x'.repeat(17 * 2 ** 20));
      },
    });
    await api.until(4);
    const said = of('warn', 'debug').map(({ error }) => String(error));
    assert.ok(said.some((text) => /a watch event without an object/.test(text)));
    assert.ok(said.some((text) => /a watch event of more than 16777216 bytes/.test(text)));
  });

  it('follows several namespaces separately in one cache', async (t) => {
    const of = (namespace: string, name: string, at: string) => room(name, at, { namespace });
    const { reflector, notified, notifiedTimes, signal } = await start(
      t,
      {
        list: ({ path }, count) => {
          if (path.includes('/namespaces/one/')) return count < 2 ? [of('one', 'a', '1')] : [];
          return [of('two', 'b', '2')];
        },
        watch: ({ asked, response }) => {
          if (asked.path.includes('/two/')) return response.writeHead(200).flushHeaders();
          json(response, status(410, 'Gone', 'too old'), 410);
        },
      },
      { namespaces: ['one', 'two'] },
    );
    await reflector.whenSynced(signal);
    await notifiedTimes(3);
    assert.deepEqual([...notified].sort(), ['added one/a 1', 'added two/b 2', 'deleted one/a 1']);
    assert.deepEqual(reflector.list().map(keyOf), ['two/b']);
  });

  it('reports a namespace as dead while its lists are rejected, and not while the API server fails', async (t) => {
    let forbidden = true;
    const { reflector, open, signal } = await start(
      t,
      {
        list: ({ path }) => (path.includes('/failing/') ? undefined : [room('a', '1', { namespace: 'whole' })]),
        rejects: ({ path }) => (forbidden && path.includes('/closed/') ? status(403, 'Forbidden', 'rooms is forbidden') : undefined),
      },
      { namespaces: ['whole', 'failing', 'closed'], deadAfterMs: 1_000 },
    );
    await eventually('a dead namespace', () => reflector.dead.length > 0, { within: 60_000 });
    assert.deepEqual(
      reflector.dead.map(({ namespace, forbidden: denied }) => [namespace, denied]),
      [['closed', true]],
    );
    assert.match(reflector.dead[0]?.message ?? '', /rooms is forbidden/);
    assert.deepEqual([...reflector.unlisted], ['failing', 'closed']);
    forbidden = false;
    await eventually('the namespace recovers', () => reflector.dead.length === 0, { within: 60_000 });
    assert.deepEqual([...reflector.unlisted], ['failing']);
    assert.ok(open.length > 0 && !signal.aborted);
  });

  it('reports an object recreated during a gap as deletion and addition', async (t) => {
    const { notified, notifiedTimes } = await start(t, {
      list: (_asked, count) => (count === 0 ? [room('a', '1')] : [room('a', '5', { uid: 'another' })]),
      watch: (watch, count) => (count === 0 ? json(watch.response, status(410, 'Gone', 'too old'), 410) : void ok(watch).flushHeaders()),
    });
    await notifiedTimes(3);
    assert.deepEqual(notified, ['added default/a 1', 'deleted default/a 1', 'added default/a 5']);
  });

  it('replays its cache periodically without requests', async (t) => {
    const { api, notified, notifiedTimes } = await start(t, { list: () => [room('a', '1')] }, { resyncMs: 100 });
    await notifiedTimes(3);
    assert.deepEqual(notified.slice(0, 3), ['added default/a 1', 'changed default/a 1', 'changed default/a 1']);
    assert.ok(api.asked.length <= 2);
  });

  it('continues if a listener throws', async (t) => {
    const seen: string[] = [];
    const onChange = (object: Room) => {
      seen.push(object.metadata.name);
      throw new TypeError('a bug of the listener');
    };
    const { reflector, of, open, api, signal } = await start(
      t,
      { list: () => [room('a', '1')], watch: (watch) => void ok(watch).flushHeaders() },
      { onChange, onDelete: (object) => seen.push(`${object.metadata.name} deleted`) },
    );
    await reflector.whenSynced(signal);
    await api.until(2);
    open[0]?.send('MODIFIED', room('a', '2'));
    open[0]?.send('DELETED', room('a', '3'));
    await eventually('three changes', () => seen.length >= 3, { every: 2 });
    assert.deepEqual(seen, ['a', 'a', 'a deleted']);
    assert.equal(of('error').length, 2);
  });

  it('drops managedFields, and looks objects up by an index', async (t) => {
    const labelled = (name: string, at: string, cluster: string) =>
      room(name, at, { labels: { cluster }, managedFields: [{ manager: 'kubectl' }] });
    const { reflector, notifiedTimes } = await start(
      t,
      {
        list: () => [labelled('a', '1', 'x'), labelled('b', '2', 'x')],
        watch: (watch) => {
          ok(watch);
          watch.send('MODIFIED', labelled('a', '101', 'y'));
          watch.send('DELETED', labelled('b', '102', 'x'));
          watch.send('ADDED', labelled('c', '103', 'x'));
        },
      },
      { indexes: { cluster: ({ metadata }) => [metadata.labels?.cluster ?? ''] } },
    );
    await notifiedTimes(5);
    assert.deepEqual(reflector.where('cluster', 'x').map(keyOf), ['default/c']);
    assert.deepEqual(reflector.where('cluster', 'y').map(keyOf), ['default/a']);
    assert.throws(() => reflector.where('colour', 'red'), /Unknown index 'colour'/);
    assert.ok(reflector.list().every(({ metadata }) => !('managedFields' in metadata)));
  });

  it('ends with its signal and leaves no open request', async (t) => {
    const { api, reflector, open, stop } = await start(t, { list: () => [room('a', '1')] });
    await api.until(2);
    const waiting = reflector.whenSynced(new AbortController().signal);
    await waiting;
    const closed = open[0] && once(open[0].response, 'close');
    await stop();
    await closed;
    assert.equal(api.asked.length, 2);
  });

  it('is not synced before its first list, and rejects waiting callers', async (t) => {
    const { api, reflector } = await start(t, { list: () => undefined });
    const aborter = new AbortController();
    const waiting = reflector.whenSynced(aborter.signal);
    await api.until(1);
    aborter.abort(new Error('the wait was aborted'));
    await assert.rejects(waiting, /the wait was aborted/);
    assert.equal(reflector.synced, false);
  });
});
