// Cluster administration: serves the REST routes for nodes (state, load, drain) on behalf of any node.

import type { z } from 'zod';
import { ServiceError } from '../../api/errors.ts';
import {
  type DrainOptions,
  type DrainView,
  drainOptionsSchema,
  drainViewSchema,
  type NodeConfig,
  type NodeView,
  nodeConfigSchema,
} from '../../api/node.ts';
import type { ClusterControl } from '../rooms/services/cluster-control.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import { loadResponseSchema } from './load-poll.ts';
import type { LocalNodeDescription, Membership } from './membership.ts';
import type { NodeLoad } from './placement.ts';

const loadTimeoutMs = 1_000;
const drainTimeoutMs = 5_000;
const readTimeoutMs = 2_000;

export type ControlOptions = {
  links: ClusterTransport;
  membership: Membership;
  describe: () => LocalNodeDescription;
  load: () => NodeLoad;
  drain: { start(timeout: number): void; cancel(): void };
  drainView: () => DrainView;
  config: () => NodeConfig;
  /** Default drain timeout in milliseconds, if a request has none. */
  defaultTimeout: () => number;
};

export class ClusterAdmin implements ClusterControl {
  readonly #options: ControlOptions;

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  async nodes(): Promise<NodeView[]> {
    const { links, membership, describe, load } = this.#options;
    const { rooms, forwardedTracks, cpu, accepting } = load();
    const own = { name: links.self, ...shown(describe()), load: { rooms, forwardedTracks, cpu, accepting } };
    const others = [...membership.members.values()].map(async (member) => ({
      name: member.name,
      ...shown(member),
      load: await this.#loadOf(member.name),
    }));
    return [own, ...(await Promise.all(others))].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async drain(node: NodeName, options: DrainOptions): Promise<void> {
    await this.#ask(node, 'drain', options, () => this.#drainHere(options));
  }

  async cancelDrain(node: NodeName): Promise<void> {
    await this.#ask(node, 'cancelDrain', null, () => this.#options.drain.cancel());
  }

  async drainView(node: NodeName): Promise<DrainView> {
    return this.#read(node, 'drainView', drainViewSchema, this.#options.drainView);
  }

  async config(node?: NodeName): Promise<NodeConfig> {
    return this.#read(node ?? this.#options.links.self, 'config', nodeConfigSchema, this.#options.config);
  }

  /** Handles a request of another node. @returns undefined if the method is not handled here. */
  answer(method: string, data: unknown): Promise<unknown> | undefined {
    if (method === 'drainView') return Promise.resolve(this.#options.drainView());
    if (method === 'config') return Promise.resolve(this.#options.config());
    if (method === 'drain') return this.#answerDrain(data);
    return method === 'cancelDrain' ? this.#answerCancel() : undefined;
  }

  async #answerCancel(): Promise<null> {
    this.#options.drain.cancel();
    return null;
  }

  async #answerDrain(data: unknown): Promise<null> {
    this.#drainHere(drainOptionsSchema.parse(data));
    return null;
  }

  #drainHere({ deadline }: DrainOptions): void {
    this.#options.drain.start(deadline === undefined ? this.#options.defaultTimeout() : deadline * 1000);
  }

  async #ask(node: NodeName, method: string, data: unknown, here: () => void): Promise<void> {
    const { links, membership } = this.#options;
    if (node === links.self) here();
    else if (membership.members.has(node)) await links.call(node, method, data, drainTimeoutMs);
    else throw new ServiceError('not_found', `Node ${node} is not connected`);
  }

  async #read<T>(node: NodeName, method: string, schema: z.ZodType<T>, here: () => T): Promise<T> {
    const { links, membership } = this.#options;
    if (node === links.self) return here();
    if (!membership.members.has(node)) throw new ServiceError('not_found', `Node ${node} is not connected`);
    const answer = schema.safeParse(await links.call(node, method, null, readTimeoutMs));
    if (!answer.success) throw new ServiceError('node_unreachable', `Invalid response from node ${node}`);
    return answer.data;
  }

  async #loadOf(node: NodeName): Promise<NodeView['load']> {
    try {
      return loadResponseSchema
        .omit({ sent: true, received: true })
        .parse(await this.#options.links.call(node, 'load', null, loadTimeoutMs));
    } catch {
      return null;
    }
  }
}

function shown({ address, version, state }: LocalNodeDescription): Pick<NodeView, 'address' | 'version' | 'state'> {
  return { address, version, state };
}
