// Proxied session: adapts a socket whose session is on another node. Frames pass unchanged, limits of this node still apply.
import type { ProxiedSocket, ProxiedSocketListener } from '../rooms/proxied-socket.ts';
import type { TextSocket, TextSocketListener } from './text-socket.ts';
import type { ClientAddress } from './websocket-acceptor.ts';

/** `listener` receives the frames; they are held until the remote node listens. The acceptor bounds early frames. */
export function forwardedSocket(
  socket: TextSocket,
  first: string,
  { address, trace }: Pick<ClientAddress, 'address' | 'trace'>,
): { socket: ProxiedSocket; listener: TextSocketListener } {
  let early: string[] = [];
  let lostEarly: { code: number; reason: string } | undefined;
  let target: ProxiedSocketListener | undefined;
  const listener: TextSocketListener = {
    message: (text) => {
      if (target) target.message(text);
      else early.push(text);
    },
    lost: (code, reason) => {
      if (target) target.lost(code, reason);
      else lostEarly = { code, reason };
    },
    pong: () => target?.pong(),
  };
  const forwarded: ProxiedSocket = {
    first,
    address,
    trace,
    gone: socket.gone,
    get bufferedBytes() {
      return socket.bufferedBytes;
    },
    listen: (to) => {
      target = to;
      for (const text of early) to.message(text);
      early = [];
      if (lostEarly) to.lost(lostEarly.code, lostEarly.reason);
    },
    send: (text) => socket.send(text),
    ping: () => socket.ping(),
    drained: () => socket.drained(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: (code, reason) => socket.closeAs(code, reason),
  };
  return { socket: forwarded, listener };
}
