// A socket of this node as another one serves it: frames go through as they are, the limits of this node stay in force.
import type { ProxiedSocket, ProxiedSocketListener } from '../rooms/proxied-socket.ts';
import type { TextSocket, TextSocketListener } from './text-socket.ts';

/** `listener` is to be told what comes; until the other side listens, it keeps that. The door bounds what comes so early. */
export function forwardedSocket(
  socket: TextSocket,
  first: string,
  address: string,
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
