// Surge monitor: since when the extra pod of a rollout waits for a Kubernetes node, by the local clock.
import type { PodSnapshot } from './pod-snapshot.ts';

type Wait = { template: string /** By uid of the pod. */; since: Map<string, number>; timedOut: boolean };

export class SurgeMonitor {
  readonly #now: () => number;
  readonly #waits = new Map<string, Wait>();

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Must be called at each reconcile. A rollout whose extra pod once timed out continues without extra pods until its template changes or
   * it ends.
   * @returns the waiting pod, and whether it or an earlier one timed out
   */
  observe(key: string, template: string, pods: readonly PodSnapshot[], timeoutMs: number): { waiting?: PodSnapshot; timedOut: boolean } {
    const living = pods.filter(({ ending, failed, lost }) => !ending && !failed && !lost);
    if (living.every(({ current }) => current)) {
      this.#waits.delete(key);
      return { timedOut: false };
    }
    const known = this.#waits.get(key);
    const wait = known?.template === template ? known : { template, since: new Map<string, number>(), timedOut: false };
    this.#waits.set(key, wait);
    const waiting = living.filter(({ current, unscheduled }) => current && unscheduled);
    for (const uid of wait.since.keys()) if (!waiting.some((pod) => pod.uid === uid)) wait.since.delete(uid);
    for (const { uid } of waiting) {
      const since = wait.since.get(uid) ?? this.#now();
      wait.since.set(uid, since);
      if (this.#now() - since >= timeoutMs) wait.timedOut = true;
    }
    return { ...(waiting[0] ? { waiting: waiting[0] } : {}), timedOut: wait.timedOut };
  }

  forget(key: string): void {
    this.#waits.delete(key);
  }
}
