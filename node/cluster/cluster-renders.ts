// Cluster rendering: starts a render on the node that stores the recording, or on this one if only S3 has it. Every node can report
// progress.
import { z } from 'zod';
import { ServiceError } from '../../api/errors.ts';
import { recordingIdSchema } from '../../api/recording.ts';
import { type RenderOptions, type RenderView, renderOptionsSchema, renderViewSchema } from '../../api/render.ts';
import type { LocalRenderService, RenderControl } from '../rooms/services/renders.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';

/** Timeout of RPCs in milliseconds. Long, because a cancellation waits until the processes end. */
const rpcTimeoutMs = 5_000;
/** Timeout of the search for the node that runs a render, in milliseconds. */
const searchTimeoutMs = 1_000;

const askSchema = z.object({ id: recordingIdSchema, options: renderOptionsSchema.optional() });
type Method = 'renderRecording' | 'getRender' | 'cancelRender';

export type ClusterRendersOptions = {
  links: ClusterTransport;
  own: LocalRenderService;
  /** The node that stores the recording on disk. */
  locate: (recordingId: string) => Promise<NodeName | undefined>;
};

export class ClusterRenders implements RenderControl {
  readonly #options: ClusterRendersOptions;

  constructor(options: ClusterRendersOptions) {
    this.#options = options;
  }

  async render(id: string, options: RenderOptions): Promise<RenderView> {
    return this.#ask('renderRecording', { id, options }, renderViewSchema, (own) => own.render(id, options));
  }

  async getRender(id: string): Promise<RenderView> {
    return this.#ask('getRender', { id }, renderViewSchema, (own) => own.getRender(id));
  }

  async cancelRender(id: string): Promise<void> {
    await this.#ask('cancelRender', { id }, z.unknown(), (own) => own.cancelRender(id));
  }

  /** Handles a request of another node. @returns undefined if the method is not handled here. */
  answer(method: string, data: unknown): Promise<unknown> | undefined {
    if (method === 'holdsRender') return this.#options.own.holds(askSchema.parse(data).id);
    if (method === 'renderRecording' || method === 'getRender' || method === 'cancelRender') return this.#answer(method, data);
    return undefined;
  }

  async #answer(method: Method, data: unknown): Promise<unknown> {
    const { own } = this.#options;
    const { id, options } = askSchema.parse(data);
    if (method === 'renderRecording') return own.render(id, options ?? renderOptionsSchema.parse({}));
    if (method === 'getRender') return own.getRender(id);
    await own.cancelRender(id);
    return null;
  }

  async #ask<T>(
    method: Method,
    data: z.input<typeof askSchema>,
    schema: z.ZodType<T>,
    here: (own: LocalRenderService) => Promise<T>,
  ): Promise<T> {
    const { links, own, locate } = this.#options;
    const node = (await locate(data.id)) ?? (await this.#worker(data.id));
    if (node === links.self) return here(own);
    const answer = schema.safeParse(await links.call(node, method, data, rpcTimeoutMs));
    if (!answer.success) throw new ServiceError('node_unreachable', `Invalid response from node ${node}`);
    return answer.data;
  }

  /** The node that renders a recording which is on no disk, or this node if there is none. A node that does not respond is skipped. */
  async #worker(id: string): Promise<NodeName> {
    const { links, own } = this.#options;
    if (await own.holds(id)) return links.self;
    const asked = links.nodes().map(async (node) => {
      if ((await links.call(node, 'holdsRender', { id }, searchTimeoutMs)) !== true) throw new Error('not found');
      return node;
    });
    return Promise.any(asked).catch(() => links.self);
  }
}
