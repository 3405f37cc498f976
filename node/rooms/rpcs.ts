// RPCs of a room: forwards a request to a peer and returns its response. A request is delivered once: to the session of the peer, which
// continues on its next socket, but not to a later session.
import { ServiceError } from '../../api/errors.ts';
import type { Metadata } from '../../api/json.ts';
import type { PeerEvent } from '../../api/socket/peer-events.ts';
import type { RpcRequest } from '../../api/socket/rpc.ts';
import { Timer } from '../common/timer.ts';
import { newId } from './ids.ts';

/** Maximum number of pending requests of a room, and of one sender. */
const maxPending = 1_000;
const maxPendingPerSender = 32;

/** `session` throws ServiceError `peer_not_found` while the peer is not connected. */
type RpcPeer = { readonly id: string; readonly session: { send(event: PeerEvent): void } };
/** What a peer responded: the application may reject a request. */
export type RpcOutcome = { payload?: Metadata | undefined; error?: string | undefined };
type Pending = { from: string | null; to: string; settle: (outcome: { payload: Metadata } | { error: ServiceError }) => void };

export class Rpcs {
  readonly #pending = new Map<string, Pending>();

  /**
   * Resolves with the response of the peer. `from`: null for a backend.
   * @throws ServiceError `peer_not_found`, `too_many_requests`, `rpc_failed`, `rpc_timeout`
   */
  request(from: string | null, to: RpcPeer, { method, payload, timeout }: RpcRequest): Promise<Metadata> {
    const { session } = to;
    this.#checkLimits(from);
    const rpcId = newId();
    return new Promise((resolve, reject) => {
      const late = new ServiceError('rpc_timeout', `Peer ${to.id} did not respond within ${timeout} s`);
      const timer = new Timer(timeout * 1000, () => this.#pending.get(rpcId)?.settle({ error: late }));
      this.#pending.set(rpcId, {
        from,
        to: to.id,
        settle: (outcome) => {
          timer.stop();
          this.#pending.delete(rpcId);
          if ('error' in outcome) reject(outcome.error);
          else resolve(outcome.payload);
        },
      });
      session.send({ event: 'rpcRequested', data: { rpcId, from, method, payload } });
    });
  }

  /** The response of a peer. @throws ServiceError `not_found` if the request is not pending */
  respond(by: string, rpcId: string, { payload = null, error }: RpcOutcome): void {
    const pending = this.#pending.get(rpcId);
    if (pending?.to !== by) throw new ServiceError('not_found', 'This RPC is not pending');
    pending.settle(error === undefined ? { payload } : { error: new ServiceError('rpc_failed', error) });
  }

  /** Requests to a peer whose session has ended fail. */
  sessionEnded(peerId: string): void {
    for (const { to, settle } of [...this.#pending.values()])
      if (to === peerId) settle({ error: new ServiceError('peer_not_found', `Peer ${peerId} disconnected before it responded`) });
  }

  #checkLimits(from: string | null): void {
    const own = [...this.#pending.values()].filter((pending) => pending.from === from).length;
    if (this.#pending.size >= maxPending || (from !== null && own >= maxPendingPerSender))
      throw new ServiceError('too_many_requests', 'Too many pending RPCs', { retryAfter: 1 });
  }
}
