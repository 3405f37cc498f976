// Rendering over many nodes: that which has a recording on its disk does it, else, where only S3 has it, the one that is asked; any of them says how far it is.
import { z } from 'zod';
import { ServiceError } from '../common/errors.ts';
import { recordingIdSchema } from '../rooms/shapes/content.ts';
import {
  type LocalRenderService,
  type RenderControl,
  type RenderOptions,
  type RenderView,
  renderOptionsSchema,
  renderViewSchema,
} from '../rooms/shapes/renders.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';

/** How long another node may take, in milliseconds: it ends processes for who cancels. */
const rpcTimeoutMs = 5_000;
/** Milliseconds to say whether it is at work on it. */
const searchTimeoutMs = 1_000;

const askSchema = z.object({ id: recordingIdSchema, options: renderOptionsSchema.optional() });
type Method = 'renderRecording' | 'getRender' | 'cancelRender';

export type ClusterRendersOptions = {
  links: ClusterTransport;
  own: LocalRenderService;
  /** The node that has the recording on its disk. */
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

  /** Answers another node. @returns undefined where the call is none of ours. */
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
    if (!answer.success) throw new ServiceError('node_unreachable', `Node ${node} answered with what this version does not understand`);
    return answer.data;
  }

  /** The node that works on a recording that is on no disk; this one where none does. One that does not say so counts as none. */
  async #worker(id: string): Promise<NodeName> {
    const { links, own } = this.#options;
    if (await own.holds(id)) return links.self;
    const asked = links.nodes().map(async (node) => {
      if ((await links.call(node, 'holdsRender', { id }, searchTimeoutMs)) !== true) throw new Error('not there');
      return node;
    });
    return Promise.any(asked).catch(() => links.self);
  }
}
