// Prometheus metrics of the operator, with the names of controller-runtime, so that its dashboards and alerts work.
import { Counter, collectDefaultMetrics, exponentialBuckets, Gauge, Histogram, Registry } from 'prom-client';
import type { CallObservation, ControllerObserver, QueueObserver, ReconcileResult, ReflectorObserver, WatchEnd } from '../kube/observer.ts';

type QueueStats = Parameters<QueueObserver['queueCreated']>[0];
type ReflectorStats = Parameters<ReflectorObserver['reflectorCreated']>[1];
/** A gauge that is read at each scrape. */
type Sampled = { name: string; help: string; labels: readonly string[]; read: () => (readonly [Record<string, string>, number])[] };

/** Gauges of Node.js with names of counters, which promtool rejects. Metrics by type contain the same values. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5,
  5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const queueBuckets = exponentialBuckets(10e-9, 10, 12);
const callBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Implements the observers of the kube layer (operator/kube/observer.ts); times are in milliseconds. */
export class OperatorMetrics implements QueueObserver, ControllerObserver, ReflectorObserver {
  readonly #registry = new Registry();
  readonly #queues: QueueStats[] = [];
  readonly #reflectors: [resource: string, stats: ReflectorStats][] = [];
  readonly #controllers = new Set<string>();

  readonly #requests = this.#counter('rest_client_requests_total', 'Requests to the API server.', ['code', 'method', 'host']);
  readonly #requestTime = this.#histogram(
    'rest_client_request_duration_seconds',
    'Time to the response of requests to the API server, in seconds.',
    ['verb', 'host'],
    callBuckets,
  );
  readonly #requestRetries = this.#counter('rest_client_request_retries_total', 'Retried requests to the API server.', [
    'code',
    'verb',
    'host',
  ]);

  readonly #adds = this.#counter('workqueue_adds_total', 'Keys added to the queue.', ['name', 'controller']);
  readonly #retries = this.#counter('workqueue_retries_total', 'Keys added again after a failure.', ['name', 'controller']);
  readonly #refusals = this.#counter('mediarooms_operator_queue_refused_total', 'Keys rejected because the queue was full.', ['name']);
  readonly #queueTime = this.#histogram(
    'workqueue_queue_duration_seconds',
    'Time that keys waited in the queue, in seconds.',
    ['name', 'controller'],
    queueBuckets,
  );
  readonly #workTime = this.#histogram(
    'workqueue_work_duration_seconds',
    'Time that keys were processed, in seconds.',
    ['name', 'controller'],
    queueBuckets,
  );

  readonly #reconciles = this.#counter('controller_runtime_reconcile_total', 'Reconciles.', ['controller', 'result']);
  readonly #errors = this.#counter('controller_runtime_reconcile_errors_total', 'Failed reconciles.', ['controller']);
  readonly #terminal = this.#counter(
    'controller_runtime_terminal_reconcile_errors_total',
    'Failed reconciles that are not retried until a change.',
    ['controller'],
  );
  readonly #panics = this.#counter(
    'controller_runtime_reconcile_panics_total',
    'Reconciles that failed because of an error in the program.',
    ['controller'],
  );
  readonly #timeouts = this.#counter('controller_runtime_reconcile_timeouts_total', 'Reconciles that exceeded their deadline.', [
    'controller',
  ]);
  readonly #reconcileTime = this.#histogram(
    'controller_runtime_reconcile_time_seconds',
    'Duration of reconciles, in seconds.',
    ['controller'],
    reconcileBuckets,
  );
  readonly #maxWorkers = this.#gauge('controller_runtime_max_concurrent_reconciles', 'Workers of the controller.', ['controller']);
  readonly #activeWorkers = this.#gauge('controller_runtime_active_workers', 'Busy workers of the controller.', ['controller']);

  readonly #leader = this.#gauge('leader_election_master_status', 'Whether this process is the leader.', ['name']);
  readonly #watchEnds = this.#counter('mediarooms_operator_watch_ends_total', 'Ended watches, by reason.', ['resource', 'reason']);
  readonly #lists = this.#counter('mediarooms_operator_lists_total', 'Full lists.', ['resource']);

  constructor() {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: 100 });
    for (const name of misnamed) this.#registry.removeSingleMetric(name);
    this.#addQueues();
    this.#addReflectors();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The text of one scrape. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  queueCreated(queue: QueueStats): void {
    this.#queues.push(queue);
    this.#adds.inc(labelsOf(queue.name), 0);
    this.#retries.inc(labelsOf(queue.name), 0);
    this.#refusals.inc({ name: queue.name }, 0);
  }

  reflectorCreated(resource: string, stats: ReflectorStats): void {
    this.#reflectors.push([resource, stats]);
  }

  call({ verb, method, host, status, ms, attempt }: CallObservation): void {
    const code = status === 0 ? '<error>' : String(status);
    this.#requests.inc({ code, method, host });
    this.#requestTime.observe({ verb, host }, ms / 1000);
    if (attempt > 0) this.#requestRetries.inc({ code, verb, host });
  }

  queueAdded(queue: string): void {
    this.#adds.inc(labelsOf(queue));
  }

  queueRetried(queue: string): void {
    this.#retries.inc(labelsOf(queue));
  }

  queueTaken(queue: string, waitedMs: number): void {
    this.#queueTime.observe(labelsOf(queue), waitedMs / 1000);
  }

  queueDone(queue: string, workedMs: number): void {
    this.#workTime.observe(labelsOf(queue), workedMs / 1000);
  }

  queueRefused(queue: string): void {
    this.#refusals.inc({ name: queue });
  }

  reconciled(controller: string, result: ReconcileResult, ms: number): void {
    const failed = result === 'error' || result === 'terminal_error';
    this.#reconciles.inc({ controller, result: failed ? 'error' : result });
    if (failed) this.#errors.inc({ controller });
    if (result === 'terminal_error') this.#terminal.inc({ controller });
    this.#reconcileTime.observe({ controller }, ms / 1000);
  }

  reconcilePanicked(controller: string): void {
    this.#panics.inc({ controller });
  }

  reconcileTimedOut(controller: string): void {
    this.#timeouts.inc({ controller });
  }

  workers(controller: string, active: number, most: number): void {
    if (!this.#controllers.has(controller)) this.#begin(controller);
    this.#activeWorkers.set({ controller }, active);
    this.#maxWorkers.set({ controller }, most);
  }

  watchEnded(resource: string, why: WatchEnd): void {
    this.#watchEnds.inc({ resource, reason: why });
  }

  listed(resource: string): void {
    this.#lists.inc({ resource });
  }

  leading(name: string, leading: boolean): void {
    this.#leader.set({ name }, leading ? 1 : 0);
  }

  /** Initializes the series, because a rate needs a zero before the first increment. */
  #begin(controller: string): void {
    this.#controllers.add(controller);
    for (const result of ['success', 'error', 'requeue', 'requeue_after']) this.#reconciles.inc({ controller, result }, 0);
    for (const counter of [this.#errors, this.#terminal, this.#panics, this.#timeouts]) counter.inc({ controller }, 0);
  }

  /** Spans since the start, if traces are sent. */
  spans(read: () => { exported: number; dropped: number }): void {
    const each = (name: 'exported' | 'dropped') => () => [[{}, read()[name]] as const];
    const help = 'Spans that the collector accepted.';
    this.#sampled({ name: 'mediarooms_operator_spans_exported', help, labels: [], read: each('exported') });
    const lost = 'Spans that were lost, because the collector was slow or did not accept them.';
    this.#sampled({ name: 'mediarooms_operator_spans_dropped', help: lost, labels: [], read: each('dropped') });
  }

  #addQueues(): void {
    const each = (value: (queue: QueueStats) => number) => () => this.#queues.map((queue) => [labelsOf(queue.name), value(queue)] as const);
    const seconds = (times: readonly number[], all: (...times: number[]) => number) => all(0, ...times) / 1000;
    const labels = ['name', 'controller'];
    this.#sampled({ name: 'workqueue_depth', help: 'Keys in the queue.', labels, read: each(({ depth }) => depth) });
    this.#sampled({
      name: 'workqueue_unfinished_work_seconds',
      help: 'Sum of the processing times of running keys, in seconds.',
      labels,
      read: each((queue) => seconds(queue.workTimes(), (...times) => times.reduce((sum, time) => sum + time))),
    });
    this.#sampled({
      name: 'workqueue_longest_running_processor_seconds',
      help: 'Longest processing time of a running key, in seconds.',
      labels,
      read: each((queue) => seconds(queue.workTimes(), Math.max)),
    });
  }

  #addReflectors(): void {
    const each = (value: (stats: ReflectorStats) => number) => () =>
      this.#reflectors.map(([resource, stats]) => [{ resource }, value(stats)] as const);
    const labels = ['resource'];
    const objects = 'mediarooms_operator_cached_objects';
    this.#sampled({ name: objects, help: 'Cached objects of the kind.', labels, read: each(({ size }) => size) });
    this.#sampled({
      name: 'mediarooms_operator_watch_silence_seconds',
      help: 'Time since the last message of the watch, in seconds; a bookmark arrives every minute.',
      labels,
      read: each(({ silence }) => silence / 1000),
    });
  }

  #sampled({ name, help, labels, read }: Sampled): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [this.#registry],
      collect: () => {
        gauge.reset();
        for (const [of, value] of read()) gauge.set(of, value);
      },
    });
  }

  #counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #gauge<L extends string>(name: string, help: string, labelNames: readonly L[]): Gauge<L> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }

  #histogram<L extends string>(name: string, help: string, labelNames: readonly L[], buckets: number[]): Histogram<L> {
    return new Histogram({ name, help, labelNames, buckets, registers: [this.#registry] });
  }
}

/** controller-runtime has both names. */
function labelsOf(queue: string): { name: string; controller: string } {
  return { name: queue, controller: queue };
}
