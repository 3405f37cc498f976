// Alert rules: each alert fires in its case and in no other, evaluated by promtool.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { runCommand } from '../kit/processes/command.ts';
import { tempFolder } from '../kit/temp-folder.ts';

const rulesFile = join(import.meta.dirname, '../../monitoring/alert-rules.yaml');
const rulesSchema = z.object({ groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string() })) })) });

/** Series of one hour with a sample per minute, in the notation of promtool: `start+step x times`. */
type Series = Record<string, string>;
/** `fires`: names of the firing alerts, in order. */
type Case = { series: Series; fires: string[] };

const bucket = (le: string, status = '200') => `svc_http_request_duration_seconds_bucket{le="${le}",status="${status}"}`;
const count = (status: string) => `svc_http_request_duration_seconds_count{status="${status}"}`;

const reconciles = (name: string) => `controller_runtime_reconcile_${name}{job="mediarooms-operator",controller="rooms"}`;

/** A healthy node and a healthy operator: no alert fires. */
const calm: Series = {
  'up{}': '1x60',
  'process_start_time_seconds{}': '1000x60',
  'nodejs_eventloop_lag_p99_seconds{}': '0.01x60',
  'svc_cluster_nodes{}': '2x60',
  'svc_rooms_rejected_total{}': '4x60',
  'svc_worker_restarts_total{worker="0"}': '1x60',
  'svc_workers{}': '2x60',
  'svc_worker_cpu_seconds_total{worker="0"}': '0+30x60',
  'svc_rooms_crashed_total{}': '3x60',
  'svc_room_peer_crashes_total{room_id="r"}': '0x60',
  [count('200')]: '0+1000x60',
  [count('500')]: '0+10x60',
  [bucket('1')]: '0+1000x60',
  [bucket('5')]: '0+1000x60',
  [bucket('+Inf')]: '0+1000x60',
  'svc_webhook_dead_letters_total{}': '5x60',
  'svc_webhook_pending{}': '10x60',
  'svc_webhook_delivered_total{}': '0+100x60',
  'svc_webhook_spool_errors_total{}': '0x60',
  'svc_uploads_pending{}': '2x60',
  'svc_uploads_given_up_total{}': '1x60',
  'svc_upload_failures_total{}': '0+1x60',
  'svc_upload_bytes_total{}': '0+1000x60',
  'up{job="mediarooms-operator"}': '1x60',
  'leader_election_master_status{job="mediarooms-operator"}': '1x60',
  'leader_election_master_status{job="mediarooms-operator",instance="standby"}': '0x60',
  'mediarooms_operator_watch_silence_seconds{job="mediarooms-operator",resource="rooms"}': '50x60',
  [reconciles('total')]: '0+60x60',
  [reconciles('errors_total')]: '0+1x60',
  [reconciles('panics_total')]: '0x60',
};

const cases: Record<string, Case> = {
  'nothing happens': { series: {}, fires: [] },
  'a node does not respond': { series: { 'up{}': '1x55 0x5' }, fires: ['MediaroomsNodeDown'] },
  'a node restarts repeatedly': {
    series: { 'process_start_time_seconds{}': '1000x50 2000x3 3000x7' },
    fires: ['MediaroomsNodeRestarted'],
  },
  'a node restarts once': { series: { 'process_start_time_seconds{}': '1000x50 2000x10' }, fires: [] },
  'the event loop lags': { series: { 'nodejs_eventloop_lag_p99_seconds{}': '0.3x60' }, fires: ['MediaroomsNodeSlow'] },
  'a node of the cluster is lost': { series: { 'svc_cluster_nodes{}': '2x50 1x10' }, fires: ['MediaroomsClusterSmaller'] },
  'nodes see different clusters': {
    series: { 'svc_cluster_nodes{}': '1x60', 'svc_cluster_nodes{instance="other"}': '2x60' },
    fires: ['MediaroomsClusterSplit'],
  },
  'two MediaClusters have different numbers of nodes': {
    series: { 'svc_cluster_nodes{mediacluster="one"}': '1x60', 'svc_cluster_nodes{instance="other",mediacluster="two"}': '2x60' },
    fires: [],
  },
  'no node accepts a room': { series: { 'svc_rooms_rejected_total{}': '4x55 5x5' }, fires: ['MediaroomsRoomsRejected'] },
  'a media worker dies with its rooms': {
    series: { 'svc_worker_restarts_total{worker="0"}': '1x55 2x5', 'svc_rooms_crashed_total{}': '3x55 7x5' },
    fires: ['MediaroomsWorkerRestarted', 'MediaroomsRoomsCrash'],
  },
  'no media worker runs': { series: { 'svc_workers{}': '2x55 0x5' }, fires: ['MediaroomsNoWorker'] },
  'a media worker is overloaded': {
    series: { 'svc_worker_cpu_seconds_total{worker="0"}': '0+57x60' },
    fires: ['MediaroomsWorkerBusy'],
  },
  'peers crash': { series: { 'svc_room_peer_crashes_total{room_id="r"}': '0x55 1x5' }, fires: ['MediaroomsPeersCrash'] },
  'requests fail': { series: { [count('500')]: '0+200x60' }, fires: ['MediaroomsHttpErrors'] },
  'requests are slow': { series: { [bucket('1')]: '0+500x60' }, fires: ['MediaroomsHttpSlow'] },
  'webhooks fail permanently': { series: { 'svc_webhook_dead_letters_total{}': '5x55 6x5' }, fires: ['MediaroomsWebhooksLost'] },
  'webhooks are not delivered': { series: { 'svc_webhook_delivered_total{}': '100x60' }, fires: ['MediaroomsWebhooksLate'] },
  'the disk under the spool is full': { series: { 'svc_webhook_spool_errors_total{}': '0x57 1+1x3' }, fires: ['MediaroomsSpoolFails'] },
  'uploads fail permanently': { series: { 'svc_uploads_given_up_total{}': '1x55 2x5' }, fires: ['MediaroomsUploadsGivenUp'] },
  'nothing is uploaded to S3': { series: { 'svc_upload_bytes_total{}': '1000x60' }, fires: ['MediaroomsUploadsFail'] },
  'an operator does not respond': { series: { 'up{job="mediarooms-operator"}': '1x50 0x10' }, fires: ['MediaroomsOperatorDown'] },
  'no operator is the leader': {
    series: { 'leader_election_master_status{job="mediarooms-operator"}': '1x50 0x10' },
    fires: ['MediaroomsOperatorNotLeading'],
  },
  'another operator becomes the leader': {
    series: {
      'leader_election_master_status{job="mediarooms-operator"}': '1x50 0x10',
      'leader_election_master_status{job="mediarooms-operator",instance="standby"}': '0x51 1x9',
    },
    fires: [],
  },
  'a watch receives nothing': {
    series: { 'mediarooms_operator_watch_silence_seconds{job="mediarooms-operator",resource="rooms"}': '50x50 200+60x10' },
    fires: ['MediaroomsOperatorWatchSilent'],
  },
  'most reconciles fail': { series: { [reconciles('errors_total')]: '0+40x60' }, fires: ['MediaroomsOperatorErrors'] },
  'a reconcile ends because of a bug': { series: { [reconciles('panics_total')]: '0x55 1x5' }, fires: ['MediaroomsOperatorPanics'] },
  'players of streams wait for new parts': {
    series: {
      'svc_http_request_duration_seconds_bucket{le="1",status="200",route="/hls/{roomId}/{file}"}': '0+500x60',
      'svc_http_request_duration_seconds_bucket{le="5",status="200",route="/hls/{roomId}/{file}"}': '0+5000x60',
      'svc_http_request_duration_seconds_bucket{le="+Inf",status="200",route="/hls/{roomId}/{file}"}': '0+5000x60',
    },
    fires: [],
  },
};

/** Adds the labels that Prometheus adds to scraped series. */
function scraped(series: string): string {
  const [, name = '', labels = ''] = /^([^{]+)\{(.*)\}$/.exec(series) ?? [];
  const added = [...(labels.includes('job=') ? [] : ['job="mediarooms"']), ...(labels.includes('instance=') ? [] : ['instance="node"'])];
  return `${name}{${[labels, ...added].filter((label) => label !== '').join(',')}}`;
}

/** Test that lists the firing alerts after an hour. */
function ruleTest({ series, fires }: Case): object {
  const input = Object.entries({ ...calm, ...series });
  return {
    interval: '1m',
    input_series: input.map(([name, values]) => ({ series: scraped(name), values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"}) > bool 0',
        eval_time: '1h',
        exp_samples: fires.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      },
    ],
  };
}

for (const [what, each] of Object.entries(cases))
  test(`when ${what}, ${each.fires.length === 0 ? 'no alert fires' : `${each.fires.join(' and ')} fires and nothing else`}`, async (t) => {
    const folder = tempFolder(t);
    const file = join(folder, 'test.yml');
    await writeFile(file, stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests: [ruleTest(each)] }));
    await runCommand(['promtool', 'test', 'rules', file]);
  });

test('every alert has a case in which it fires', async () => {
  const { groups } = rulesSchema.parse(parse(await readFile(rulesFile, 'utf8')));
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  const seen = new Set(Object.values(cases).flatMap(({ fires }) => fires));
  assert.deepEqual(
    alerts.filter((alert) => !seen.has(alert)),
    [],
  );
});
