// RPC bridge: RPCs between a LiveKit client and peers with other clients, or a backend. LiveKit clients exchange theirs as packets.
import { DataPacket, RpcAck, RpcError, RpcRequest, RpcResponse } from '@livekit/protocol';
import { type ErrorCode, ServiceError } from '../../../api/errors.ts';
import type { PeerEvent } from '../../../api/socket/peer-events.ts';
import { maxRpcTimeout, rpcRequestSchema } from '../../../api/socket/rpc.ts';
import type { RoomSession } from '../../rooms/peers/room-session.ts';
import { jsonOf, jsonText } from './payloads.ts';

type DataOf<Name extends PeerEvent['event']> = Extract<PeerEvent, { event: Name }>['data'];
type Value = DataPacket['value'];

/** Codes of LiveKit's clients: application error, response timeout, recipient disconnected, request too large, send failed. */
const applicationError = 1500;
const errorCodes: Partial<Record<ErrorCode, number>> = {
  rpc_timeout: 1502,
  peer_not_found: 1503,
  too_large: 1402,
  forbidden: 1505,
  too_many_requests: 1505,
};
/** Requests in each direction that wait for a response, of which the oldest are forgotten. */
const maxPending = 1_000;
const maxIdLength = 64;

export type RpcBridgeOptions = {
  room: Pick<RoomSession, 'sendRpc' | 'respondRpc'>;
  /** Name of a peer for the client. */
  identityOf: (peerId: string) => string;
  /** True if the client of a peer gets packets, so that it needs no bridge. */
  getsPackets: (peerId: string) => boolean;
  send: (packet: DataPacket) => void;
};

export class RpcBridge {
  readonly #options: RpcBridgeOptions;
  /** Peer that the client requested something of, by the id of the RPC. */
  readonly #sent = new Map<string, string>();
  /** Ids of requests to the client. */
  readonly #received = new Set<string>();

  constructor(options: RpcBridgeOptions) {
    this.#options = options;
  }

  /**
   * @returns true for a packet about an RPC that is not between LiveKit clients; `to`: its receiver
   * @throws ServiceError `not_found`, `too_large`
   */
  takes(value: Value, to: string | undefined): boolean {
    if (value.case === 'rpcRequest' && to !== undefined && !this.#options.getsPackets(to)) {
      this.#request(to, value.value);
      return true;
    }
    return this.#takesResponse(value);
  }

  #request(to: string, { id, method, payload, responseTimeoutMs }: RpcRequest): void {
    // Longer ones do not come from a LiveKit client.
    if (id.length > maxIdLength) return;
    const from = this.#options.identityOf(to);
    this.#send(from, { case: 'rpcAck', value: new RpcAck({ requestId: id }) });
    const timeout = Math.min(maxRpcTimeout, Math.max(1, Math.ceil(responseTimeoutMs / 1000)));
    this.#remember(id, to);
    const request = rpcRequestSchema.safeParse({ method, payload: jsonOf(payload), timeout });
    try {
      if (!request.success) throw new ServiceError('bad_request', 'The method has more than 64 characters, or none');
      this.#options.room.sendRpc({ rpcId: id, to, ...request.data });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.failed({ rpcId: id, code: error.code, message: error.message });
    }
  }

  responded({ rpcId, payload }: DataOf<'rpcResponded'>): void {
    this.#respond(rpcId, { case: 'payload', value: jsonText(payload) });
  }

  failed({ rpcId, code, message }: DataOf<'rpcFailed'>): void {
    this.#respond(rpcId, { case: 'error', value: new RpcError({ code: errorCodes[code as ErrorCode] ?? applicationError, message }) });
  }

  /** A peer or a backend requests something of the client. */
  requested({ rpcId, from, method, payload }: DataOf<'rpcRequested'>): void {
    this.#received.add(rpcId);
    const [oldest] = this.#received;
    if (this.#received.size > maxPending && oldest !== undefined) this.#received.delete(oldest);
    const request = new RpcRequest({ id: rpcId, method, payload: jsonText(payload), responseTimeoutMs: maxRpcTimeout * 1000, version: 1 });
    this.#send(from === null ? '' : this.#options.identityOf(from), { case: 'rpcRequest', value: request });
  }

  #takesResponse(value: Value): boolean {
    if (value.case !== 'rpcAck' && value.case !== 'rpcResponse') return false;
    const { requestId: rpcId } = value.value;
    if (!this.#received.has(rpcId)) return false;
    if (value.case === 'rpcResponse') {
      this.#received.delete(rpcId);
      const outcome = value.value.value;
      // Clients compress payloads only for each other.
      const error =
        outcome.case === 'payload' ? undefined : outcome.case === 'error' ? outcome.value.message : 'The response has no payload';
      this.#options.room.respondRpc({ rpcId, ...(outcome.case === 'payload' ? { payload: jsonOf(outcome.value) } : { error }) });
    }
    return true;
  }

  #respond(rpcId: string, value: RpcResponse['value']): void {
    const to = this.#sent.get(rpcId);
    this.#sent.delete(rpcId);
    this.#send(to === undefined ? '' : this.#options.identityOf(to), {
      case: 'rpcResponse',
      value: new RpcResponse({ requestId: rpcId, value }),
    });
  }

  #send(participantIdentity: string, value: Value): void {
    this.#options.send(new DataPacket({ participantIdentity, value }));
  }

  #remember(rpcId: string, to: string): void {
    this.#sent.set(rpcId, to);
    const [oldest] = this.#sent.keys();
    if (this.#sent.size > maxPending && oldest !== undefined) this.#sent.delete(oldest);
  }
}
