// Proxied session: adapts a socket whose session is on another node. Frames pass unchanged, limits of this node still apply.
import type { ProxiedSocket, ProxiedSocketListener } from '../rooms/proxied-socket.ts';
import type { FrameSocket, FrameSocketListener } from './frame-socket.ts';
import type { ClientAddress } from './upgrade.ts';

export type ProxiedRequest<Frame> = Pick<ProxiedSocket, 'path' | 'binary' | 'ending'> & { first?: Frame; client: ClientAddress };

/** `listener` receives the frames; they are held until the remote node listens. The acceptor bounds early frames. */
export function forwardedSocket<Frame extends string | Buffer>(
  socket: FrameSocket<Frame>,
  { path, binary, first, client, ending }: ProxiedRequest<Frame>,
): { socket: ProxiedSocket; listener: FrameSocketListener<Frame> } {
  const { address, trace } = client;
  let early: Frame[] = [];
  let lostEarly: { code: number; reason: string } | undefined;
  let target: ProxiedSocketListener | undefined;
  const listener: FrameSocketListener<Frame> = {
    message: (frame) => {
      if (target) target.message(frame);
      else early.push(frame);
    },
    lost: (code, reason) => {
      if (target) target.lost(code, reason);
      else lostEarly = { code, reason };
    },
    pong: () => target?.pong(),
  };
  const forwarded: ProxiedSocket = {
    path,
    binary,
    first,
    ending,
    address,
    trace,
    closed: socket.closed,
    get bufferedBytes() {
      return socket.bufferedBytes;
    },
    listen: (to) => {
      target = to;
      for (const frame of early) to.message(frame);
      early = [];
      if (lostEarly) to.lost(lostEarly.code, lostEarly.reason);
    },
    send: (frame) => socket.send(frame),
    ping: () => socket.ping(),
    drained: () => socket.drained(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: (code, reason) => socket.closeAs(code, reason),
  };
  return { socket: forwarded, listener };
}
