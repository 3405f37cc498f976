// Polls the health of the nodes of each cluster, with a shorter interval while changes are in progress.
import { messageOf } from '../../error-message.ts';
import type { NodeClient } from '../../nodes/node-client.ts';
import type { NodeHealth } from '../../nodes/schemas.ts';
import { nodeSnapshot } from './pod-snapshot.ts';

/** Client of the REST API of a node. */
export type NodeApi = Pick<NodeClient, 'health' | 'drain' | 'cancelDrain' | 'resetBackoff'>;
export type NodeApiFactory = (target: { url: string; signed: boolean; token: () => string | undefined }) => NodeApi;

/** `signed`: whether requests to it are signed; `ready`: whether its pod is ready. */
export type PollTarget = { uid: string; url: string; signed: boolean; ready?: boolean };
export type NodeReport = {
  /** Time of the last response, in monotonic milliseconds. */
  at: number;
  health: NodeHealth;
};

/** Poll interval in milliseconds: normally, and while changes are in progress or a node did not respond. */
const periods = { usual: 5_000, quick: 1_000 };
/** TTL of a report: three rounds. */
export const reportTtlMs = 15_000;

export type NodePollOptions = {
  calls: NodeApiFactory;
  token: (key: string) => string | undefined;
  /** Called when a value changes that decisions depend on. */
  changed: (key: string) => void;
  now: () => number;
  periods?: { usual: number; quick: number };
};

type Polled = { calls: NodeApi; url: string; signed: boolean; ready: boolean; report: NodeReport | undefined; error: string | undefined };
type Round = { nodes: Map<string, Polled>; quick: boolean; timer: NodeJS.Timeout | undefined; running: boolean; ended: AbortController };

export class NodePoll {
  readonly #options: NodePollOptions;
  readonly #clusters = new Map<string, Round>();

  constructor(options: NodePollOptions) {
    this.#options = options;
  }

  /** Polls these nodes of the cluster from now on. */
  watch(key: string, targets: readonly PollTarget[], quick: boolean): void {
    const round = this.#clusters.get(key) ?? this.#begin(key);
    const wanted = new Map(targets.map((target) => [target.uid, target]));
    for (const [uid, node] of round.nodes) if (!isSame(node, wanted.get(uid))) round.nodes.delete(uid);
    const fresh = targets.filter(({ uid }) => !round.nodes.has(uid));
    for (const { uid, url, signed, ready = false } of fresh)
      round.nodes.set(uid, {
        url,
        signed,
        ready,
        calls: this.#options.calls({ url, signed, token: () => this.#options.token(key) }),
        report: undefined,
        error: undefined,
      });
    const pollSoon = fresh.length > 0 || (quick && !round.quick);
    round.quick = quick;
    if (pollSoon && !round.running) this.#schedule(key, round, 0);
  }

  /** The latest report of the node of the pod. */
  report(key: string, uid: string): NodeReport | undefined {
    const report = this.#clusters.get(key)?.nodes.get(uid)?.report;
    return report && this.#options.now() - report.at < reportTtlMs ? report : undefined;
  }

  /** Time of the last response of the node of the pod, in monotonic milliseconds; undefined if it never responded or is not polled. */
  lastResponseAt(uid: string): number | undefined {
    for (const { nodes } of this.#clusters.values()) if (nodes.has(uid)) return nodes.get(uid)?.report?.at;
    return undefined;
  }

  /** Whether the node has not been polled yet. */
  neverPolled(key: string, uid: string): boolean {
    const node = this.#clusters.get(key)?.nodes.get(uid);
    return node !== undefined && node.report === undefined && node.error === undefined;
  }

  /** Error of the last poll of the node. */
  error(key: string, uid: string): string | undefined {
    return this.#clusters.get(key)?.nodes.get(uid)?.error;
  }

  calls(key: string, uid: string): NodeApi | undefined {
    return this.#clusters.get(key)?.nodes.get(uid)?.calls;
  }

  /** Polls again immediately, after a request that changed a node. */
  pollSoon(key: string): void {
    const round = this.#clusters.get(key);
    if (round && !round.running) this.#schedule(key, round, 0);
  }

  /** Polls all nodes of the cluster now, and resolves when each has responded or failed. */
  async round(key: string): Promise<void> {
    const round = this.#clusters.get(key);
    if (!round || round.running) return;
    clearTimeout(round.timer);
    await this.#run(key, round);
  }

  forget(key: string): void {
    const round = this.#clusters.get(key);
    clearTimeout(round?.timer);
    round?.ended.abort();
    this.#clusters.delete(key);
  }

  close(): void {
    for (const key of [...this.#clusters.keys()]) this.forget(key);
  }

  #begin(key: string): Round {
    const round: Round = { nodes: new Map(), quick: true, timer: undefined, running: false, ended: new AbortController() };
    this.#clusters.set(key, round);
    return round;
  }

  #schedule(key: string, round: Round, ms: number): void {
    clearTimeout(round.timer);
    if (round.ended.signal.aborted) return;
    round.timer = setTimeout(() => void this.#run(key, round), ms);
  }

  async #run(key: string, round: Round): Promise<void> {
    round.running = true;
    const before = new Map([...round.nodes].map(([uid, node]) => [uid, meaningOf(node)]));
    await Promise.all([...round.nodes.values()].map((node) => this.#request(node, round.ended.signal)));
    round.running = false;
    if (round.ended.signal.aborted) return;
    const { usual, quick } = this.#options.periods ?? periods;
    // After a failed poll the next round is soon, so that one late response does not make the Kubernetes node count as lost.
    const silent = [...round.nodes.values()].some(({ error }) => error !== undefined);
    const neverPolled = [...round.nodes.keys()].some((uid) => this.neverPolled(key, uid));
    this.#schedule(key, round, neverPolled ? 0 : round.quick || silent ? quick : usual);
    if ([...round.nodes].some(([uid, node]) => meaningOf(node) !== before.get(uid))) this.#options.changed(key);
  }

  async #request(node: Polled, signal: AbortSignal): Promise<void> {
    node.calls.resetBackoff();
    try {
      node.report = { health: await node.calls.health(signal), at: this.#options.now() };
      node.error = undefined;
    } catch (error) {
      node.error = messageOf(error);
    }
  }
}

/** A node that failed before it was ready has not been polled: once it is ready, it counts as unpolled. */
function isSame(node: Polled, target: PollTarget | undefined): boolean {
  if (target?.url !== node.url || target.signed !== node.signed) return false;
  const woke = target.ready === true && !node.ready;
  return !woke || node.report !== undefined;
}

/** Values that decisions depend on; counters can wait for the next reconcile. */
function meaningOf({ report, error }: Polled): string {
  if (!report) return `${error !== undefined}`;
  const { state, load, config, distribution } = report.health;
  const { busy } = nodeSnapshot(report.health);
  const facts = [state, load.rooms > 0, busy.rooms > 0, load.rejectedRooms, distribution.nodesInCluster, config, error !== undefined];
  return JSON.stringify(facts);
}
