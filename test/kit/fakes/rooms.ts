// Real rooms on fake media, with recorded events and peer messages.

import type { RoomEvent } from '../../../api/events.ts';
import type { Metadata } from '../../../api/json.ts';
import type { PeerEvent } from '../../../api/socket/peer-events.ts';
import type { CloseReason, PeerConnection } from '../../../node/rooms/interfaces.ts';
import type { LocalLimits, LocalRooms } from '../../../node/rooms/local-rooms.ts';
import type { Peer } from '../../../node/rooms/peers/peer.ts';
import { PeerTokens } from '../../../node/rooms/tokens/peer-tokens.ts';
import { silentLog } from '../silent-log.ts';
import { turns } from '../turns.ts';
import { TestHot } from './config.ts';
import { FakeComponentRegistry } from './fake-components.ts';
import { FakeMedia } from './fake-media.ts';
import { TestLocalRooms } from './local-rooms.ts';

export const noLimits: LocalLimits = {
  ...new TestHot().current.limits,
  peerDisconnectedTimeout: null,
  peerlessPurgeTimeout: null,
  accessTokenMaxTtl: 86_400_000,
};

export type TestRooms = {
  rooms: TestLocalRooms;
  media: FakeMedia;
  components: FakeComponentRegistry;
  keys: PeerTokens;
  events: RoomEvent[];
  /** Types of all events so far, in order, with the peer if there is one: `PeerAdded:alice`. */
  kinds: () => string[];
};

export function makeRooms(limits: Partial<LocalLimits> = {}, { clustered = false, onEvent = () => {} } = {}): TestRooms {
  const events: RoomEvent[] = [];
  const media = new FakeMedia();
  const components = new FakeComponentRegistry();
  const keys = new PeerTokens(['a secret of the test']);
  const rooms = new TestLocalRooms({
    node: 'svc@test',
    log: silentLog(),
    engine: media,
    components,
    clustered,
    address: () => 'node.test:5002',
    limits: () => ({ ...noLimits, ...limits }),
    signToken: (claims) => keys.sign(claims),
    onEvent: (event) => {
      events.push(event);
      onEvent();
    },
  });
  return {
    rooms,
    media,
    components,
    keys,
    events,
    kinds: () => events.map((event) => (event.peerId ? `${event.type}:${event.peerId}` : event.type)),
  };
}

/** With the room `r`. */
export async function makeRoom(limits: Partial<LocalLimits> = {}): Promise<TestRooms> {
  const made = makeRooms(limits);
  await made.rooms.createRoom({ roomId: 'r' });
  return made;
}

/** A connection that records the messages of the room. */
export class TestConnection implements PeerConnection {
  readonly events: PeerEvent[] = [];
  closed: CloseReason | undefined;

  send(event: PeerEvent): void {
    this.events.push(event);
  }

  pongTimeoutChanged(): void {}

  close(reason: CloseReason): void {
    this.closed = reason;
  }

  names(): string[] {
    return this.events.map((event) => event.event);
  }

  /** Data of the events of one name. */
  of<Name extends PeerEvent['event']>(name: Name): EventData<Name>[] {
    return this.events.filter((event) => event.event === name).map((event) => event.data as EventData<Name>);
  }
}

type EventData<Name extends PeerEvent['event']> = Extract<PeerEvent, { event: Name }>['data'];

export type TestPeer = { peer: Peer; connection: TestConnection; send: string };

/** Adds a peer to a room, connects it, creates both transports and joins. */
export async function joinPeer(rooms: LocalRooms, roomId: string, peerId: string): Promise<TestPeer> {
  await rooms.addPeer(roomId, { type: 'webrtc', peerId });
  return connectPeer(rooms, roomId, peerId);
}

/** A room with two peers. */
export async function makePair() {
  const made = await makeRoom();
  return { ...made, alice: await joinPeer(made.rooms, 'r', 'alice'), bob: await joinPeer(made.rooms, 'r', 'bob') };
}

export async function connectPeer(rooms: LocalRooms, roomId: string, peerId: string): Promise<TestPeer> {
  const peer = rooms.findPeer(roomId, peerId);
  if (!peer) throw new Error(`no peer ${peerId}`);
  const connection = new TestConnection();
  peer.connect(connection);
  const { session } = peer;
  const { id } = await session.createTransport('send', { sctp: true });
  await session.createTransport('recv', { sctp: true });
  session.subscriptions.join({});
  await flushEvents();
  return { peer, connection, send: String(id) };
}

export async function publish(
  from: TestPeer,
  kind: 'audio' | 'video',
  metadata: Metadata | null = null,
  encrypted = false,
): Promise<string> {
  const { trackId } = await from.peer.session.publications.publish({
    transportId: from.send,
    kind,
    rtpParameters: {},
    metadata,
    paused: false,
    encrypted,
  });
  await flushEvents();
  return trackId;
}

/** Runs everything that is ready to run: fake media responds within microtasks and immediates. */
export async function flushEvents(): Promise<void> {
  await turns(3);
}
