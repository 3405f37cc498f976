// Metrics of the operator: names of controller-runtime, and values sampled at a scrape.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resources } from '../../../../operator/kube/objects.ts';
import { Reflector } from '../../../../operator/kube/reflector.ts';
import { WorkQueue } from '../../../../operator/kube/work-queue.ts';
import { OperatorMetrics } from '../../../../operator/metrics/operator-metrics.ts';
import { silentLog } from '../../../kit/silent-log.ts';

/** Value of a series in the exposition text. */
async function seriesOf(metrics: OperatorMetrics, series: string): Promise<number | undefined> {
  const line = (await metrics.text()).split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

describe('The metrics of the operator', () => {
  it('have the names of controller-runtime, so that its dashboards work', async () => {
    const text = await new OperatorMetrics().text();
    const names = [...text.matchAll(/^# TYPE (\w+) \w+$/gm)].map(([, name]) => name);
    const wanted = [
      'controller_runtime_reconcile_total',
      'controller_runtime_reconcile_errors_total',
      'controller_runtime_terminal_reconcile_errors_total',
      'controller_runtime_reconcile_panics_total',
      'controller_runtime_reconcile_timeouts_total',
      'controller_runtime_reconcile_time_seconds',
      'controller_runtime_max_concurrent_reconciles',
      'controller_runtime_active_workers',
      'workqueue_depth',
      'workqueue_adds_total',
      'workqueue_queue_duration_seconds',
      'workqueue_work_duration_seconds',
      'workqueue_unfinished_work_seconds',
      'workqueue_longest_running_processor_seconds',
      'workqueue_retries_total',
      'rest_client_requests_total',
      'rest_client_request_duration_seconds',
      'rest_client_request_retries_total',
      'leader_election_master_status',
    ];
    assert.deepEqual(
      wanted.filter((name) => !names.includes(name)),
      [],
    );
  });

  it('count reconciles by result, starting at zero', async () => {
    const metrics = new OperatorMetrics();
    metrics.workers('rooms', 0, 10);
    assert.equal(await seriesOf(metrics, 'controller_runtime_reconcile_total{controller="rooms",result="error"}'), 0);
    metrics.reconciled('rooms', 'success', 20);
    metrics.reconciled('rooms', 'requeue_after', 20);
    metrics.reconciled('rooms', 'error', 20);
    metrics.reconciled('rooms', 'terminal_error', 2000);
    metrics.workers('rooms', 3, 10);
    assert.equal(await seriesOf(metrics, 'controller_runtime_reconcile_total{controller="rooms",result="success"}'), 1);
    assert.equal(await seriesOf(metrics, 'controller_runtime_reconcile_total{controller="rooms",result="error"}'), 2);
    assert.equal(await seriesOf(metrics, 'controller_runtime_terminal_reconcile_errors_total{controller="rooms"}'), 1);
    assert.equal(await seriesOf(metrics, 'controller_runtime_reconcile_time_seconds_bucket{le="0.025",controller="rooms"}'), 3);
    assert.equal(await seriesOf(metrics, 'controller_runtime_active_workers{controller="rooms"}'), 3);
    assert.equal(await seriesOf(metrics, 'controller_runtime_max_concurrent_reconciles{controller="rooms"}'), 10);
  });

  it('sample queues and reflectors at each scrape', async () => {
    const metrics = new OperatorMetrics();
    const queue = { name: 'rooms', depth: 0, workTimes: () => [2000, 500] };
    const reflector = { size: 7, silence: 1500 };
    metrics.queueCreated(queue);
    metrics.reflectorCreated('pods', reflector);
    queue.depth = 5;
    assert.equal(await seriesOf(metrics, 'workqueue_depth{name="rooms",controller="rooms"}'), 5);
    assert.equal(await seriesOf(metrics, 'workqueue_unfinished_work_seconds{name="rooms",controller="rooms"}'), 2.5);
    assert.equal(await seriesOf(metrics, 'workqueue_longest_running_processor_seconds{name="rooms",controller="rooms"}'), 2);
    assert.equal(await seriesOf(metrics, 'mediarooms_operator_cached_objects{resource="pods"}'), 7);
    assert.equal(await seriesOf(metrics, 'mediarooms_operator_watch_silence_seconds{resource="pods"}'), 1.5);
  });

  it('contain every queue and reflector without further registration', async () => {
    const metrics = new OperatorMetrics();
    const queue = new WorkQueue({ name: 'rooms', metrics });
    queue.add('a/b');
    const client = { scoped: () => assert.fail('no request is needed') };
    new Reflector({
      client,
      resource: resources.pods,
      namespaces: [],
      log: silentLog(),
      onChange: () => {},
      onDelete: () => {},
      metrics,
    });
    assert.equal(await seriesOf(metrics, 'workqueue_depth{name="rooms",controller="rooms"}'), 1);
    assert.equal(await seriesOf(metrics, 'mediarooms_operator_cached_objects{resource="pods"}'), 0);
    queue.close();
  });

  it('count requests by code and method, and retries separately', async () => {
    const metrics = new OperatorMetrics();
    const call = { verb: 'apply', method: 'PATCH', host: 'api', resource: 'rooms', status: 200, ms: 12, attempt: 0 } as const;
    metrics.call(call);
    metrics.call({ ...call, status: 0, attempt: 1 });
    assert.equal(await seriesOf(metrics, 'rest_client_requests_total{code="200",method="PATCH",host="api"}'), 1);
    assert.equal(await seriesOf(metrics, 'rest_client_request_retries_total{code="<error>",verb="apply",host="api"}'), 1);
    assert.equal(await seriesOf(metrics, 'rest_client_request_duration_seconds_count{verb="apply",host="api"}'), 2);
  });
});
