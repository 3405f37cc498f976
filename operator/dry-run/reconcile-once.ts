// `--once`: reconciles everything once. Writes are dry runs of the API server, requests to nodes are only printed.
import { setTimeout as sleep } from 'node:timers/promises';
import { assemble } from '../assemble.ts';
import type { OperatorConfig } from '../config.ts';
import { ensureCrds } from '../crds/ensure-crds.ts';
import { messageOf } from '../error-message.ts';
import type { KubeClient } from '../kube/client.ts';
import { resources } from '../kube/objects.ts';
import type { Log } from '../log.ts';
import { OperatorMetrics } from '../metrics/operator-metrics.ts';
import { PlannedChanges } from './changes.ts';
import { recordingNodes } from './recording-node-client.ts';

/** Timeouts of the whole dry run, of the API server and of the initial lists. */
const deadline = 300_000;
const timeoutMs = 5_000;
const syncTimeoutMs = 60_000;

/** The planned changes as diffs per object; empty if there are none. @throws Error if an object could not be reconciled */
export async function reconcileOnce(client: KubeClient, config: OperatorConfig, log: Log): Promise<string> {
  const plannedChanges = new PlannedChanges();
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(deadline)]);
  const reading = client.scoped({ signal });
  const writing = client.scoped({ signal, dryRun: plannedChanges });
  await ensureCrds({
    client: writing,
    log,
    apply: config.applyDefinitions,
    dryRun: true,
    timeoutMs,
    signal,
    sleep: (ms, ended) => sleep(ms, undefined, { signal: ended }),
    now: () => performance.now(),
  });
  const served = (await reading.serves(resources.rooms)) && (await reading.serves(resources.mediaClusters));
  // Without the CRDs there is nothing to reconcile.
  if (!served) return plannedChanges.text();
  const { stores, rooms, clusters } = await assemble({
    config,
    reading,
    writing,
    recorder: { emit: () => {} },
    log,
    metrics: new OperatorMetrics(),
    connect: recordingNodes(plannedChanges.act),
  });
  const running = stores.run(signal);
  try {
    await stores.whenSynced(AbortSignal.any([signal, AbortSignal.timeout(syncTimeoutMs)])).catch((error: unknown) => {
      throw new Error(stores.unsynced() ?? messageOf(error));
    });
    const failures = [...(await clusters.once(signal)), ...(await rooms.once(signal))];
    if (failures.length > 0) throw new Error(failures.map(([key, error]) => `${key}: ${messageOf(error)}`).join('\n'));
    return plannedChanges.text();
  } finally {
    ending.abort(new Error('the dry run has ended'));
    await running;
  }
}
