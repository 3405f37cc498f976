// Scaler: scales frames of any size and pixel format to 4:2:0 of one size.
import { SoftwareScaleContext } from 'node-av';
import { AV_PIX_FMT_YUV420P, SWS_BILINEAR } from 'node-av/constants';
import { AvError, DeferredFree } from './ffmpeg.ts';
import type { VideoFrame } from './video-frame.ts';

export class Scaler {
  #deferredFree: DeferredFree | undefined;
  #context: SoftwareScaleContext | undefined;
  #prepared = '';

  /** Scales the whole of `source` to the whole of `target`. Not reentrant. @throws AvError */
  scale(source: VideoFrame, target: VideoFrame): Promise<void> {
    const { context, lease } = this.#prepare(source, target);
    return lease.use(async () => {
      const [from, to] = [source.frame, target.frame];
      if (!from.data || !to.data) throw new Error('The frame is empty');
      const code = await context.scale(from.data, from.linesize, 0, from.height, to.data.slice(0, 3), to.linesize.slice(0, 3));
      if (code < 0) throw new AvError('Could not scale the frame', code);
    });
  }

  /** Idempotent; allowed during scale(). */
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
