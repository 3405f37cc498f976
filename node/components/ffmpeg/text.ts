// Text renderer: draws a line of text as a frame, white on dark and as wide as necessary.
import { Filter, FilterGraph, Frame } from 'node-av';
import { AV_OPT_SEARCH_CHILDREN, AV_OPT_TYPE_STRING } from 'node-av/constants';
import { AvError, hasOutput, throwOnError } from './ffmpeg.ts';
import { VideoFrame } from './video-frame.ts';

export type TextOptions = {
  /** Path of a font file for FreeType. */
  font: string;
  /** Height in pixels, even. */
  height: number;
  maxWidth: number;
};

/** Font size relative to the height. */
const letters = 0.6;
/** Minimum luma of a row that contains text. */
const inkLuma = 60;
const ground = '0x202020';

/** Text beyond `maxWidth` is cut off. @throws AvError, e.g. without the font */
export function drawText(text: string, { font, height, maxWidth }: TextOptions): VideoFrame {
  const graph = new FilterGraph();
  const frame = new Frame();
  graph.alloc();
  frame.alloc();
  const add = (filter: string, options: Record<string, string>) => {
    const found = Filter.getByName(filter);
    const context = found && graph.allocFilter(found, filter);
    if (!context) throw new AvError(`FFmpeg has no filter ${filter}`, -1);
    // Set one by one: in an option string, the text of a client would have to be escaped.
    for (const [name, value] of Object.entries(options)) {
      throwOnError(
        context.setOption(name, value, AV_OPT_TYPE_STRING, AV_OPT_SEARCH_CHILDREN),
        `The filter ${filter} does not accept ${name}`,
      );
    }
    throwOnError(context.initStr(), `Could not initialize filter ${filter}`);
    return context;
  };
  try {
    const size = Math.round(height * letters);
    const source = add('color', { color: ground, size: `${maxWidth}x${height}`, rate: '1' });
    const drawn = add('drawtext', {
      fontfile: font,
      text: text.replaceAll(/\p{Cc}/gu, ' '),
      expansion: 'none',
      fontsize: String(size),
      fontcolor: 'white',
      x: String(Math.round(size / 2)),
      y: '(h-max_glyph_h)/2',
    });
    const pixels = add('format', { pix_fmts: 'yuv420p' });
    const sink = add('buffersink', {});
    throwOnError(source.link(0, drawn, 0), 'Could not draw the text');
    throwOnError(drawn.link(0, pixels, 0), 'Could not draw the text');
    throwOnError(pixels.link(0, sink, 0), 'Could not draw the text');
    throwOnError(graph.configSync(), 'Could not draw the text');
    hasOutput(sink.buffersinkGetFrameSync(frame), 'Could not draw the text');
    const whole = new VideoFrame();
    whole.adopt(frame);
    return cropped(whole, size);
  } finally {
    frame.free();
    graph.free();
  }
}

/** Crops the empty part after the text. */
function cropped(whole: VideoFrame, space: number): VideoFrame {
  let last = 0;
  for (let row = 0; row < whole.height; row += 1) {
    const luma = whole.luma(row);
    for (let column = luma.length - 1; column > last; column -= 1) if ((luma[column] ?? 0) > inkLuma) last = column;
  }
  const width = Math.min(whole.width, Math.ceil((last + space / 2) / 2) * 2);
  const videoFrame = VideoFrame.filled(width, whole.height);
  videoFrame.draw(whole, { x: 0, y: 0, width, height: whole.height }, { x: 0, y: 0 });
  whole.close();
  return videoFrame;
}
