// Kube layer during connection failures, API server outages and compaction: no change is lost, and few requests are sent.
import assert from 'node:assert/strict';
import { after, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from '../../operator/kube/client.ts';
import { Controller } from '../../operator/kube/controller.ts';
import { keyOf, type Stored } from '../../operator/kube/objects.ts';
import type { CallObservation } from '../../operator/kube/observer.ts';
import { Reflector } from '../../operator/kube/reflector.ts';
import { writeStatus } from '../../operator/kube/status-writer.ts';
import { WorkQueue } from '../../operator/kube/work-queue.ts';
import { eventually } from '../kit/eventually.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { keepDoing } from '../kit/pace.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';
import { silentLog } from '../kit/silent-log.ts';
import { connectTo, untilServed, type Widget, widget, widgetDefinition, widgets } from './kube-widgets.ts';

const log = silentLog();
const minute = 60_000;

async function startServer() {
  const server = await startApiServer({ after });
  await server.apply(widgetDefinition);
  return server;
}

const [shaky, resting] = await Promise.all([startServer(), startServer()]);

/** A reflector and a controller that copies the size of each widget to its status. */
function operate(t: TestContext, client: KubeClient) {
  const known = new Map<string, string>();
  const ends: string[] = [];
  const lists: number[] = [];
  const queue = new WorkQueue({ name: 'widgets' });
  const reflector = new Reflector<Widget>({
    client,
    resource: widgets,
    namespaces: [],
    log,
    onChange: (object) => {
      known.set(keyOf(object), object.metadata.resourceVersion);
      queue.add(keyOf(object));
    },
    onDelete: (object) => known.delete(keyOf(object)),
    metrics: {
      reflectorCreated: () => {},
      watchEnded: (_resource, why) => ends.push(why),
      listed: (_resource, objects) => lists.push(objects),
    },
  });
  const reconcile = async (key: string, signal: AbortSignal) => {
    const scoped = client.scoped({ signal });
    const [namespace, name = ''] = key.split('/');
    const object = await scoped.get<Widget>(widgets, { namespace, name });
    if (object) await writeStatus(scoped, widgets, object, { seen: object.spec.size });
  };
  const controller = new Controller({ name: 'widgets', workers: 10, timeoutMs: 30_000, queue, reconcile, log });
  const end = new AbortController();
  const running = Promise.all([reflector.run(end.signal), controller.run(end.signal)]);
  t.after(async () => {
    end.abort();
    queue.close();
    await running;
  });
  return { reflector, queue, known, ends, lists, signal: end.signal };
}

/** Waits until cache and statuses match the API server. @returns the duration */
async function untilCaughtUp(admin: KubeClient, reflector: Reflector<Widget>, known: Map<string, string>): Promise<number> {
  const elapsed = stopwatch();
  const versions = (objects: readonly Stored<Widget>[]) =>
    objects.map((object) => `${keyOf(object)} ${object.metadata.resourceVersion}`).sort();
  let there = 0;
  const isCaughtUp = async () => {
    const { items } = await admin.list<Widget>(widgets);
    there = items.length;
    const cached = [...known].map(([key, version]) => `${key} ${version}`).sort();
    const same = (one: string[]) => JSON.stringify(one) === JSON.stringify(versions(items));
    return same(cached) && same(versions(reflector.list())) && items.every(({ spec, status }) => status?.seen === spec.size);
  };
  await eventually(() => `it is caught up: ${known.size} known, ${there} there`, isCaughtUp, { within: 90_000, every: 100 });
  return elapsed();
}

describe('The kube layer', { concurrency: true }, () => {
  it('loses no change while its connections are cut every second for a minute, with a bounded number of requests', {
    timeout: 3 * minute,
  }, async (t) => {
    const proxy = await startTcpProxy(t, Number(new URL(shaky.url).port));
    const calls: CallObservation[] = [];
    const kubeconfig = shaky.kubeconfigFor({ server: `https://127.0.0.1:${proxy.port}` });
    const client = await connectTo(t, kubeconfig, { observe: (call) => calls.push(call) });
    const admin = await connectTo(t, shaky.kubeconfig);
    await untilServed(admin);
    const { reflector, known, signal } = operate(t, client);
    await reflector.whenSynced(signal);
    let changes = 0;
    await keepDoing(minute, async () => {
      const second = sleep(1000);
      const name = `widget-${changes % 7}`;
      if (changes % 5 === 4) await admin.delete(widgets, { namespace: 'default', name });
      else await admin.apply(widgets, widget(name, changes));
      changes += 1;
      await second;
      proxy.cut();
      proxy.restore();
    });
    const took = await untilCaughtUp(admin, reflector, known);
    const watches = calls.filter(({ verb }) => verb === 'watch' || verb === 'list').length;
    const others = calls.length - watches;
    t.diagnostic(`${changes} changes, ${watches} watches and lists, ${others} other requests; caught up after ${Math.round(took)} ms`);
    assert.ok(watches <= 75, `${watches} watches and lists`);
    // Each change is read and written once; a cut may cause a retry.
    assert.ok(others <= 4 * changes, `${others} other requests for ${changes} changes`);
    assertPrompt('to catch up', took, { promised: 10_000 });
  });

  it('keeps one idle watch open, because a bookmark arrives every minute', { timeout: 3 * minute }, async (t) => {
    const calls: CallObservation[] = [];
    const client = await connectTo(t, shaky.kubeconfig, { observe: (call) => calls.push(call) });
    await untilServed(client);
    const end = new AbortController();
    const listeners = { onChange: () => {}, onDelete: () => {} };
    const reflector = new Reflector<Widget>({ client, resource: widgets, namespaces: ['kube-public'], log, idleMs: 68_000, ...listeners });
    const running = reflector.run(end.signal);
    await reflector.whenSynced(end.signal);
    // A watch is rejected while the API server reads objects of a new kind into its memory; a list is not.
    await eventually('a watch is open', () => calls.some(({ verb, status }) => verb === 'watch' && status === 200), { every: 20 });
    calls.length = 0;
    // Longer than the idle timeout of a watch.
    await sleep(72_000);
    assert.ok(reflector.silence < 68_000, `${reflector.silence} ms without a message`);
    assert.deepEqual(calls, []);
    end.abort();
    await running;
  });

  it('backs off during an API server outage of a minute, then catches up, and relists after a compaction', {
    timeout: 4 * minute,
  }, async (t) => {
    const proxy = await startTcpProxy(t, Number(new URL(resting.url).port));
    const calls: CallObservation[] = [];
    const kubeconfig = resting.kubeconfigFor({ server: `https://127.0.0.1:${proxy.port}` });
    const client = await connectTo(t, kubeconfig, { observe: (call) => calls.push(call) });
    const admin = await connectTo(t, resting.kubeconfig);
    await untilServed(admin);
    const { reflector, queue, known, ends, lists, signal } = operate(t, client);
    await Promise.all(Array.from({ length: 200 }, (_, index) => admin.apply(widgets, widget(`widget-${index}`, 1))));
    await reflector.whenSynced(signal);
    await untilCaughtUp(admin, reflector, known);

    await resting.stopApiServer();
    calls.length = 0;
    const addAll = () => {
      for (const key of known.keys()) queue.add(key);
    };
    await keepDoing(minute, addAll, 5_000);
    const attempts = calls.length;
    assert.ok(calls.every(({ status }) => status === 0));
    await resting.startApiServer();
    const changed = admin.apply(widgets, widget('widget-0', 2));
    await Promise.all([changed, admin.delete(widgets, { namespace: 'default', name: 'widget-1' }), admin.apply(widgets, widget('new', 3))]);
    const took = await untilCaughtUp(admin, reflector, known);
    t.diagnostic(`${attempts} attempts in a minute without API server; caught up ${Math.round(took)} ms after it was back`);
    assert.ok(attempts >= 5 && attempts <= 150, `${attempts} attempts`);
    assertPrompt('to catch up', took, { promised: 15_000 });

    ends.length = 0;
    lists.length = 0;
    proxy.cut();
    await Promise.all([
      admin.apply(widgets, widget('widget-2', 4)),
      admin.delete(widgets, { namespace: 'default', name: 'widget-3' }),
      admin.apply(widgets, widget('newer', 5)),
    ]);
    await resting.stopApiServer();
    await resting.compactEtcd();
    await resting.startApiServer();
    proxy.restore();
    await untilCaughtUp(admin, reflector, known);
    assert.ok(ends.includes('expired'), `watches ended: ${ends.join(', ')}`);
    assert.equal(lists.length, 1);
    assert.deepEqual([known.has('default/widget-3'), known.has('default/newer')], [false, true]);
  });
});
