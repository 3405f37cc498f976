// Text socket: a websocket with text frames, which are valid UTF-8.
import { isUtf8 } from 'node:buffer';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { type FrameFormat, FrameSocket, type FrameSocketLimits, type FrameSocketListener } from './frame-socket.ts';

const textFrames: FrameFormat<string> = { binary: false, read: (data) => (isUtf8(data) ? data.toString('utf8') : undefined) };
export type TextSocketListener = FrameSocketListener<string>;

export class TextSocket extends FrameSocket<string> {
  constructor(socket: WebSocket, raw: Duplex, limits: FrameSocketLimits, listener: TextSocketListener) {
    super(socket, raw, limits, textFrames, listener);
  }
}
