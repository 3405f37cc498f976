// Connection checks: test the network of a client before it joins, with a media transport that no peer is notified of.

import type { ResponseData } from '../../api/socket/peer.ts';
import { Timer } from '../common/timer.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import type { TextSocket, TextSocketListener } from '../websocket/text-socket.ts';

export type ConnectionChecksOptions = {
  iceServers: (peer: Pick<Peer, 'id' | 'roomId'>) => Record<string, unknown>[];
  /** Milliseconds after which the socket is closed. */
  deadline: number;
};

/** One check at a time per peer: a newer one ends the older one. */
export class ConnectionChecks {
  readonly #options: ConnectionChecksOptions;
  readonly #running = new Map<Peer, TextSocket>();

  constructor(options: ConnectionChecksOptions) {
    this.#options = options;
  }

  /** Number of running checks. */
  get size(): number {
    return this.#running.size;
  }

  /** Responds with the transport to test. After that the socket only waits to be closed. @throws ServiceError if there is no media */
  async start(socket: TextSocket, id: number, peer: Peer): Promise<TextSocketListener> {
    this.#running.get(peer)?.close('takenOver');
    this.#running.set(peer, socket);
    const media = peer.openCheck();
    const deadline = new Timer(this.#options.deadline, () => socket.close('authenticationTimeout'));
    void socket.closed.then(() => {
      deadline.stop();
      media.close();
      if (this.#running.get(peer) === socket) this.#running.delete(peer);
    });
    const transport = await media.createTransport('recv', { sctp: false });
    const data: ResponseData<'checkConnection'> = { roomId: peer.roomId, iceServers: this.#options.iceServers(peer), transport };
    socket.send(JSON.stringify({ id, ok: true, data }));
    return { message: () => socket.refuse('malformed'), lost: () => {} };
  }
}
