// Data of a LiveKit client: packets that it exchanges with other LiveKit clients unchanged, and messages with all other peers.
import { DataPacket, UserPacket } from '@livekit/protocol';
import { ServiceError } from '../../../api/errors.ts';
import type { Transcript } from '../../../api/events.ts';
import type { Metadata } from '../../../api/json.ts';
import type { PeerEvent } from '../../../api/socket/peer-events.ts';
import type { Log } from '../../common/log.ts';
import type { MessageChannels } from '../../rooms/interfaces.ts';
import type { RoomSession } from '../../rooms/peers/room-session.ts';
import { type CompleteStream, DataStreams, streamPayload } from './data-streams.ts';
import { bytesOf, payloadOf } from './payloads.ts';
import { RpcBridge } from './rpc-bridge.ts';
import { transcriptsOf } from './transcripts.ts';

const reliable = '_reliable';
const lossy = '_lossy';
/** Channels that the server opens; clients wait for these names. */
const channels = [
  { label: lossy, reliable: false },
  { label: reliable, reliable: true },
];
/** Clients divide larger messages. */
const maxPacketBytes = 64 * 1024;

export type DataChannelsOptions = {
  log: Log;
  room: RoomSession;
  peerId: string;
  /** Of the session: clients ignore packets of one that are older than its last one. */
  sid: string;
  /** Own name for other clients. */
  identity: string;
  identityOf: (peerId: string) => string;
  /** True if the peer is an agent: it may send in the name of another participant, and transcribes speech. */
  agent: boolean;
  /** The track with this SID; undefined if no other participant publishes it. */
  trackOf: (sid: string) => string | undefined;
  /** The peer with this name; undefined if it is not in the room. */
  peerOf: (identity: string) => string | undefined;
  /** True if the client of a peer gets packets, so that messages would repeat them. */
  getsPackets: (peerId: string) => boolean;
};
/** What sessions of LiveKit clients relay to each other. */
export type RelayedPacket = { label: string; bytes: Buffer };

type DataEvent = Extract<PeerEvent, { event: 'data' | 'rpcRequested' | 'rpcResponded' | 'rpcFailed' }>;

export function isDataEvent(event: PeerEvent): event is DataEvent {
  return event.event === 'data' || event.event === 'rpcRequested' || event.event === 'rpcResponded' || event.event === 'rpcFailed';
}

export class DataChannels {
  readonly #options: DataChannelsOptions;
  readonly #rpcs: RpcBridge;
  readonly #streams = new DataStreams(maxPacketBytes);
  #channels: MessageChannels | undefined;
  #lastSequence = 0;

  constructor(options: DataChannelsOptions) {
    this.#options = options;
    const { room, identityOf, getsPackets } = options;
    this.#rpcs = new RpcBridge({ room, identityOf, getsPackets, send: (packet) => this.#send(packet) });
  }

  /** After both transports exist. @throws ServiceError of the media */
  async open(): Promise<void> {
    const listener = { message: (label: string, message: Buffer) => this.#received(label, message) };
    this.#channels = await this.#options.room.media.data.openMessageChannels(channels, listener);
  }

  /** Of the reliable packets of the client; 0 before the first one. After a resume the client repeats those after it. */
  get lastSequence(): number {
    return this.#lastSequence;
  }

  /** A packet of another LiveKit client. */
  relayed({ label, bytes }: RelayedPacket): void {
    this.#channels?.send(label, bytes);
  }

  /** A message or an RPC of a peer with another client, or of the server. */
  received(event: DataEvent): void {
    if (event.event === 'data') this.#message(event.data);
    else if (event.event === 'rpcRequested') this.#rpcs.requested(event.data);
    else if (event.event === 'rpcResponded') this.#rpcs.responded(event.data);
    else this.#rpcs.failed(event.data);
  }

  #message({ from, label, payload }: Extract<PeerEvent, { event: 'data' }>['data']): void {
    const { identityOf, getsPackets } = this.#options;
    if (from !== null && getsPackets(from)) return;
    const participantIdentity = from === null ? '' : identityOf(from);
    const value = new UserPacket({ payload: bytesOf(payload), topic: label, participantIdentity });
    this.#send(new DataPacket({ participantIdentity, value: { case: 'user', value } }));
  }

  #send(packet: DataPacket): void {
    this.#channels?.send(reliable, Buffer.from(packet.toBinary()));
  }

  #received(label: string, message: Buffer): void {
    if (label !== reliable && label !== lossy) return;
    try {
      this.#relay(label, message);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#options.log.debug({ reason: error.message }, 'data of client rejected');
    }
  }

  /** @throws ServiceError */
  #relay(label: string, message: Buffer): void {
    const { room, sid: participantSid, identity: participantIdentity, peerOf } = this.#options;
    const packet = parse(message);
    if (label === reliable && this.#isRepeated(packet)) return;
    const { value } = packet;
    // Clients name the receivers of a message in its packet, or in the message itself.
    const names = [...packet.destinationIdentities, ...(value.case === 'user' ? value.value.destinationIdentities : [])];
    const to = names.length > 0 ? names.flatMap((name) => peerOf(name) ?? []) : undefined;
    if (this.#rpcs.takes(value, to?.[0])) return;
    const stream = this.#streams.received(packet);
    const transcripts = this.#transcriptsOf(packet, stream);
    // An agent writes in the name of a participant what that one said.
    const quoted = this.#options.agent && isText(value.case) && peerOf(packet.participantIdentity) !== undefined;
    Object.assign(packet, quoted ? { participantSid: '' } : { participantSid, participantIdentity });
    if (value.case === 'user') Object.assign(value.value, { participantSid, participantIdentity });
    const relayed: RelayedPacket = { label, bytes: Buffer.from(packet.toBinary()) };
    room.relay({ message: relayed, bytes: relayed.bytes.length, to, data: messageOf(packet, stream), transcripts });
  }

  #transcriptsOf(packet: DataPacket, stream: CompleteStream | undefined): Transcript[] {
    const { agent, peerId: self, peerOf, trackOf } = this.#options;
    return agent ? transcriptsOf({ packet, stream, peerOf, trackOf, self }) : [];
  }

  /** A client that resumes does not know which of its packets arrived. Older clients do not number them. */
  #isRepeated({ sequence }: DataPacket): boolean {
    if (sequence === 0) return false;
    const repeated = sequence <= this.#lastSequence;
    if (!repeated) this.#lastSequence = sequence;
    return repeated;
  }
}

function isText(name: DataPacket['value']['case']): boolean {
  return name === 'streamHeader' || name === 'streamChunk' || name === 'streamTrailer' || name === 'transcription';
}

/** For peers with other clients. */
function messageOf({ value }: DataPacket, stream: CompleteStream | undefined): { label: string; payload: Metadata } | undefined {
  if (value.case === 'user') return { label: value.value.topic ?? '', payload: payloadOf(value.value.payload) };
  return stream && { label: stream.topic, payload: streamPayload(stream) };
}

/** @throws ServiceError `too_large`, `bad_request` */
function parse(message: Buffer): DataPacket {
  if (message.length > maxPacketBytes) throw new ServiceError('too_large', `A packet has more than ${maxPacketBytes} bytes`);
  try {
    return DataPacket.fromBinary(message);
  } catch (error) {
    throw new ServiceError('bad_request', 'The message is not a DataPacket', { cause: error });
  }
}
