// Scales pictures of whatever size and layout of pixels to 4:2:0 of one size.
import { SoftwareScaleContext } from 'node-av';
import { AV_PIX_FMT_YUV420P, SWS_BILINEAR } from 'node-av/constants';
import { AvError, DeferredFree } from './ffmpeg.ts';
import type { VideoFrame } from './video-frame.ts';

export class Scaler {
  #deferredFree: DeferredFree | undefined;
  #context: SoftwareScaleContext | undefined;
  #prepared = '';

  /** The whole of `source` becomes the whole of `target`. One call at a time. @throws AvError */
  scale(source: VideoFrame, target: VideoFrame): Promise<void> {
    const { context, lease } = this.#prepare(source, target);
    return lease.use(async () => {
      const [from, to] = [source.frame, target.frame];
      if (!from.data || !to.data) throw new Error('There is no picture');
      const code = await context.scale(from.data, from.linesize, 0, from.height, to.data.slice(0, 3), to.linesize.slice(0, 3));
      if (code < 0) throw new AvError('A picture cannot be scaled', code);
    });
  }

  /** Idempotent; also while it scales. */
  close(): void {
    this.#deferredFree?.close();
    this.#deferredFree = undefined;
    this.#context = undefined;
    this.#prepared = '';
  }

  #prepare(source: VideoFrame, target: VideoFrame): { context: SoftwareScaleContext; lease: DeferredFree } {
    const wanted = `${source.width}x${source.height} ${source.format} to ${target.width}x${target.height}`;
    if (this.#context && this.#deferredFree && wanted === this.#prepared) return { context: this.#context, lease: this.#deferredFree };
    this.close();
    const context = new SoftwareScaleContext();
    context.getContext(source.width, source.height, source.format, target.width, target.height, AV_PIX_FMT_YUV420P, SWS_BILINEAR);
    const lease = new DeferredFree(() => context.freeContext());
    this.#context = context;
    this.#deferredFree = lease;
    this.#prepared = wanted;
    return { context, lease };
  }
}
