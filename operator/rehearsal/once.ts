// `--once`: one look at everything, with every write only rehearsed by the API server and every call to a node only told.
import { setTimeout as sleep } from 'node:timers/promises';
import { compose } from '../compose.ts';
import type { OperatorConfig } from '../config.ts';
import { ensureDefinitions } from '../definitions/ensure-definitions.ts';
import type { KubeClient } from '../kube/client.ts';
import { resources } from '../kube/objects.ts';
import type { Log } from '../log.ts';
import { OperatorMetrics } from '../metrics/operator-metrics.ts';
import { Changes } from './changes.ts';
import { rehearsedActions, rehearsedCalls } from './nodes.ts';

/** Longest that all of it may take, that an API server is waited for, and that everything may take to be listed. */
const deadline = 300_000;
const patienceMs = 5_000;
const syncDeadline = 60_000;

/** Tells what would be done, a difference per object; empty where nothing would. @throws Error where something could not be looked at */
export async function once(client: KubeClient, config: OperatorConfig, log: Log): Promise<string> {
  const changes = new Changes();
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(deadline)]);
  const reading = client.scoped({ signal });
  const writing = client.scoped({ signal, rehearsing: changes });
  await ensureDefinitions({
    client: writing,
    log,
    apply: config.applyDefinitions,
    rehearsed: true,
    patienceMs,
    signal,
    sleep: (ms, ended) => sleep(ms, undefined, { signal: ended }),
    now: () => performance.now(),
  });
  const served = (await reading.serves(resources.rooms)) && (await reading.serves(resources.mediaClusters));
  // Without its kinds there is nothing to look at.
  if (!served) return changes.text();
  const { stores, rooms, clusters } = await compose({
    config,
    reading,
    writing,
    recorder: { emit: () => {} },
    log,
    metrics: new OperatorMetrics(),
    rehearse: { calls: rehearsedCalls(changes.act), rooms: rehearsedActions(changes.act) },
  });
  const running = stores.run(signal);
  try {
    await stores.whenSynced(AbortSignal.any([signal, AbortSignal.timeout(syncDeadline)])).catch((error: unknown) => {
      throw new Error(stores.unsynced() ?? sentenceOf(error));
    });
    const failures = [...(await clusters.once(signal)), ...(await rooms.once(signal))];
    if (failures.length > 0) throw new Error(failures.map(([key, error]) => `${key}: ${sentenceOf(error)}`).join('\n'));
    return changes.text();
  } finally {
    ending.abort(new Error('the rehearsal ends'));
    await running;
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
