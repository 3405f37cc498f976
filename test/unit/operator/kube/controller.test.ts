// Controller workers: handling of a key after success, failure, timeout and outage.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, type ControllerOptions, TerminalError } from '../../../../operator/kube/controller.ts';
import { KubeError } from '../../../../operator/kube/http/kube-error.ts';
import { WorkQueue } from '../../../../operator/kube/work-queue.ts';
import { eventually } from '../../../kit/eventually.ts';
import { assertPrompt, stopwatch } from '../../../kit/promised-time.ts';
import { recordedLog } from '../../../kit/recorded-log.ts';

function start(
  t: TestContext,
  reconcile: ControllerOptions['reconcile'],
  options: Partial<Pick<ControllerOptions, 'workers' | 'timeoutMs' | 'client'>> = {},
) {
  const queue = new WorkQueue({ name: 'rooms', random: () => 0 });
  const results: string[] = [];
  const counts = { panics: 0, timeouts: 0 };
  const metrics = {
    reconciled: (_controller: string, result: string) => void results.push(result),
    reconcilePanicked: () => void counts.panics++,
    reconcileTimedOut: () => void counts.timeouts++,
    workers: () => {},
  };
  const { log, of } = recordedLog();
  const controller = new Controller({ name: 'rooms', workers: 2, timeoutMs: 5000, queue, reconcile, log, metrics, ...options });
  const end = new AbortController();
  const running = controller.run(end.signal);
  t.after(async () => {
    end.abort();
    queue.close();
    await running;
  });
  const until = (condition: () => boolean) => eventually(String(condition), condition, { every: 2 });
  return { controller, queue, results, counts, of, end, running, until };
}

const unreachable = () => new KubeError({ status: 0, reason: 'Unreachable', message: 'The API server could not be reached.' });

describe('A controller', { concurrency: true }, () => {
  it('reconciles queued keys with all of its workers', async (t) => {
    let atOnce = 0;
    let most = 0;
    const { controller, results, until } = start(
      t,
      async () => {
        most = Math.max(most, ++atOnce);
        await sleep(5);
        atOnce -= 1;
      },
      { workers: 3 },
    );
    for (let i = 0; i < 12; i++) controller.enqueue(`default/${i}`);
    await until(() => results.length === 12);
    assert.deepEqual([most, new Set(results)], [3, new Set(['success'])]);
  });

  it('requeues a key after the requested time', async (t) => {
    let runs = 0;
    const { controller, results, until } = start(t, async () => (++runs < 3 ? { requeueAfterMs: 10 } : undefined));
    controller.enqueue('default/a');
    await until(() => results.length === 3);
    assert.deepEqual(results, ['requeue_after', 'requeue_after', 'success']);
  });

  it('retries a failed key with backoff, which a success resets', async (t) => {
    const at: number[] = [];
    const { controller, queue, results, until, of } = start(t, async () => {
      at.push(performance.now());
      if (at.length < 6) throw new Error('the node is busy');
    });
    controller.enqueue('default/a');
    await until(() => results.length === 6);
    const waits = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    assert.ok((waits[4] ?? 0) >= 79 && (waits[3] ?? 0) >= 39);
    assert.equal(queue.failures('default/a'), 0);
    assert.equal(of('warn').length, 5);
    assert.deepEqual([of('warn')[4]?.key, of('warn')[4]?.failures, of('warn')[4]?.error], ['default/a', 5, 'the node is busy']);
  });

  it('respects Retry-After of the API server', async (t) => {
    const at: number[] = [];
    const { controller, until } = start(t, async () => {
      at.push(performance.now());
      if (at.length === 1) throw new KubeError({ status: 429, reason: 'TooManyRequests', message: 'slow down', retryAfterMs: 300 });
    });
    controller.enqueue('default/a');
    await until(() => at.length === 2);
    assert.ok((at[1] ?? 0) - (at[0] ?? 0) >= 299);
  });

  it('does not retry a terminal failure until the key is added again', async (t) => {
    const { controller, results, queue, until } = start(t, async () => {
      throw new TerminalError('The room id is taken.');
    });
    controller.enqueue('default/a');
    await until(() => results.length === 1);
    await sleep(30);
    assert.deepEqual([results, queue.delayed], [['terminal_error'], 0]);
    controller.enqueue('default/a');
    await until(() => results.length === 2);
  });

  it('survives a program error, counts it and logs its stack', async (t) => {
    let runs = 0;
    const { controller, counts, results, of, until } = start(t, async () => {
      runs += 1;
      if (runs === 1) throw new TypeError('undefined is not a function');
      if (runs === 2) throw 'a text';
    });
    controller.enqueue('default/a');
    await until(() => results.length === 3);
    assert.deepEqual([counts.panics, results], [2, ['error', 'error', 'success']]);
    assert.match(JSON.stringify(of('error')[0]), /undefined is not a function.*controller\.test\.ts/);
  });

  it('aborts a reconcile at its timeout, and never reconciles its key concurrently', async (t) => {
    let runs = 0;
    let inside = 0;
    const { controller, counts, results, until } = start(
      t,
      async (_key, signal) => {
        inside += 1;
        assert.equal(inside, 1);
        runs += 1;
        if (runs === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        // This reconcile ends late.
        await sleep(50);
        inside -= 1;
        signal.throwIfAborted();
      },
      { timeoutMs: 1_500 },
    );
    controller.enqueue('default/a');
    controller.enqueue('default/a');
    await until(() => runs >= 1);
    controller.enqueue('default/a');
    await until(() => results.length >= 2);
    assert.deepEqual([results.slice(0, 2), counts.timeouts], [['error', 'success'], 1]);
  });

  it('pauses all workers during an API server outage, then reconciles every key', async (t) => {
    let there = false;
    const asked: number[] = [];
    const { controller, results, until, of } = start(
      t,
      async () => {
        asked.push(performance.now());
        if (!there) throw unreachable();
      },
      { workers: 10 },
    );
    const rested = stopwatch();
    for (let i = 0; i < 100; i++) controller.enqueue(`default/${i}`);
    await sleep(2800);
    // Ten workers detect the outage, then one of them tries after 0.5, 1 and 2 s, and so on.
    const most = 10 + Math.ceil(Math.log2(1 + rested() / 500));
    assert.ok(asked.length <= most, `${asked.length} tries`);
    there = true;
    const elapsed = stopwatch();
    await until(() => results.filter((result) => result === 'success').length === 100);
    // At most four seconds after the return of the API server, when a worker tries again.
    assertPrompt('to finish every key', elapsed(), { promised: 4_000 });
    assert.deepEqual(of('warn', 'error'), []);
  });

  it('probes an API server that is away with one worker, also while the others wait for keys', async (t) => {
    const asked: number[] = [];
    const reconcile = async () => {
      asked.push(performance.now());
      throw unreachable();
    };
    const { controller, until } = start(t, reconcile, { workers: 8 });
    controller.enqueue('default/a');
    await until(() => asked.length === 4);
    // At least the pauses of 0.5, 1 and 2 s, although seven workers had no key when the outage began.
    const [first = 0, , , fourth = 0] = asked;
    assert.ok(fourth - first >= 3400, `the fourth probe came after ${fourth - first} ms`);
  });

  it('probes at once if another request reaches the API server', async (t) => {
    const listeners = new Set<() => void>();
    const onReachable = (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    };
    let asked = 0;
    const reconcile = async () => {
      asked += 1;
      if (asked < 5) throw unreachable();
    };
    const { controller, results, until, end, running } = start(t, reconcile, { client: { onReachable } });
    controller.enqueue('default/a');
    await until(() => asked === 4);
    const elapsed = stopwatch();
    for (const listener of listeners) listener();
    await until(() => results.includes('success'));
    // Without the notice, the pause would last four seconds.
    assertPrompt('the probe', elapsed(), { promised: 600, bound: 3_500 });
    end.abort();
    await running;
    assert.equal(listeners.size, 0);
  });

  it('aborts running reconciles with its signal, and keeps their keys queued', async (t) => {
    const { controller, queue, end, running, until, of } = start(t, async (_key, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      signal.throwIfAborted();
    });
    for (const key of ['default/a', 'default/b', 'default/c']) controller.enqueue(key);
    await until(() => queue.depth === 1);
    end.abort(new Error('the lease is lost'));
    await running;
    assert.deepEqual([queue.depth, of('warn', 'error')], [3, []]);
  });

  it('finishes running reconciles when its queue is closed', async (t) => {
    const { controller, queue, results, running, until } = start(t, async () => {
      await sleep(50);
    });
    controller.enqueue('default/a');
    await until(() => queue.workTimes().length === 1);
    queue.close();
    await running;
    assert.deepEqual(results, ['success']);
  });
});
