// Reports pods to the API server: binding, status and end.
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonClient } from '../https-json.ts';
import type { Pod, PodCondition } from './pod-spec.ts';
import { podStatus, timeText } from './pod-status.ts';
import type { PodWorker } from './pod-worker.ts';

const retryDelay = 300;
const strategic = 'application/strategic-merge-patch+json';

/** Keeps the status in the API equal to the state of the worker, also after foreign changes and outages of the API server. */
export class PodReporter {
  readonly #client: JsonClient;
  readonly #worker: PodWorker;
  #sent = '';
  #dirty = false;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(client: JsonClient, worker: PodWorker) {
    this.#client = client;
    this.#worker = worker;
  }

  /** @throws if a retry may succeed; not for a pod that was deleted or is already bound */
  static async bind(client: JsonClient, pod: Pod, host: string): Promise<void> {
    const target = { apiVersion: 'v1', kind: 'Node', name: host };
    const { name, uid } = pod.metadata;
    const { status } = await client.call(`${pathOf(pod)}/binding`, { method: 'POST', body: { metadata: { name, uid }, target } });
    if (status === 429 || status >= 500) throw new Error(`pod ${name} was not bound: ${status}`);
  }

  /** Sets the condition Unschedulable, unless it is already set. */
  static async unschedulable(client: JsonClient, pod: Pod, message: string): Promise<void> {
    const known = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    if (known?.status === 'False' && known.message === message) return;
    const condition: PodCondition = {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message,
      lastTransitionTime: timeText(),
    };
    await patchStatus(client, pod, { conditions: [condition] });
  }

  /** Writes the status if it changed. */
  sync(): void {
    if (this.#closed) return;
    this.#dirty = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  close(): void {
    this.#closed = true;
  }

  /** Writes the last status, then deletes the object. @returns whether it was deleted; only a closed reporter stops retrying */
  async deletePod(): Promise<boolean> {
    this.sync();
    await this.#running;
    while (!this.#closed) {
      const { pod } = this.#worker;
      const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } };
      const answer = await this.#client.call(pathOf(pod), { method: 'DELETE', body }).catch(() => undefined);
      // 409: another pod has that name now.
      if (answer && [200, 202, 404, 409].includes(answer.status)) return true;
      await sleep(retryDelay);
    }
    return false;
  }

  async #run(): Promise<void> {
    while (this.#dirty && !this.#closed) {
      this.#dirty = false;
      const { pod, state, place } = this.#worker;
      const status = podStatus(pod, state, place);
      if (!this.#differs(pod, status)) continue;
      const answer = await patchStatus(this.#client, pod, status).catch(() => undefined);
      if (answer === 200) this.#sent = comparable(status);
      else if (answer !== 404) {
        if (answer !== undefined && answer < 500) console.error(`the status of pod ${pod.metadata.name} was rejected with ${answer}`);
        this.#dirty = true;
        await sleep(retryDelay);
      }
    }
  }

  #differs(pod: Pod, status: Record<string, unknown>): boolean {
    if (comparable(status) !== this.#sent) return true;
    const own = (status.conditions as PodCondition[]).find(({ type }) => type === 'Ready');
    const stored = pod.status?.conditions?.find(({ type }) => type === 'Ready');
    // The node controller sets pods of an unreachable Kubernetes node to not ready.
    return stored !== undefined && stored.status !== own?.status;
  }
}

/** Without transition times, which are now if nothing changed. */
function comparable(status: Record<string, unknown>): string {
  return JSON.stringify(status, (key, value) => (key === 'lastTransitionTime' ? undefined : value));
}

async function patchStatus(client: JsonClient, pod: Pod, status: Record<string, unknown>): Promise<number> {
  const body = { metadata: { uid: pod.metadata.uid }, status };
  const answer = await client.call(`${pathOf(pod)}/status`, { method: 'PATCH', contentType: strategic, body });
  return answer.status;
}

function pathOf({ metadata }: Pod): string {
  return `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
}
