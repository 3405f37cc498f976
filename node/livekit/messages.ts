// Messages to LiveKit clients, in their protocol.
import {
  Codec,
  DisconnectReason,
  ICEServer,
  JoinResponse,
  LeaveRequest,
  LeaveRequest_Action,
  ParticipantInfo_State,
  ParticipantUpdate,
  Room,
  ServerInfo,
  SignalResponse,
  SpeakerInfo,
  SpeakersChanged,
} from '@livekit/protocol';
import type { ServiceError } from '../../api/errors.ts';
import type { Metadata } from '../../api/json.ts';
import type { AudioLevel } from '../../api/socket/peer-events.ts';
import type { CloseReason } from '../rooms/interfaces.ts';
import { isRtx, type RtpCapabilities } from '../sdp/codecs.ts';
import { roomSid } from './ids.ts';
import { type Participant, participantInfo, textOf } from './participants.ts';
import type { RosterChange } from './roster.ts';

export type Message = NonNullable<ConstructorParameters<typeof SignalResponse>[0]>['message'];

/** Clients use features by this version of LiveKit's server, whose protocol this one speaks. */
const serverVersion = '1.11.0';
const protocolVersion = 16;
/** Seconds between pings of clients, and until a client without pongs reconnects. */
const pingInterval = 5;
const pingTimeout = 15;

type Leave = { action: LeaveRequest_Action; reason: DisconnectReason };
/** What a client does when its session ends. */
const leaves: Readonly<Record<CloseReason | 'resumeFailed' | 'joinFailed' | 'proxyClosed', Leave>> = {
  peerRemoved: { action: LeaveRequest_Action.DISCONNECT, reason: DisconnectReason.PARTICIPANT_REMOVED },
  peerDenied: { action: LeaveRequest_Action.DISCONNECT, reason: DisconnectReason.PARTICIPANT_REMOVED },
  roomStopped: { action: LeaveRequest_Action.DISCONNECT, reason: DisconnectReason.ROOM_DELETED },
  takenOver: { action: LeaveRequest_Action.DISCONNECT, reason: DisconnectReason.DUPLICATE_IDENTITY },
  joinFailed: { action: LeaveRequest_Action.DISCONNECT, reason: DisconnectReason.JOIN_FAILURE },
  roomMoved: { action: LeaveRequest_Action.RECONNECT, reason: DisconnectReason.SERVER_SHUTDOWN },
  mediaLost: { action: LeaveRequest_Action.RECONNECT, reason: DisconnectReason.STATE_MISMATCH },
  internalError: { action: LeaveRequest_Action.RECONNECT, reason: DisconnectReason.STATE_MISMATCH },
  /** The session continues on another node; the client may resume it at any node. */
  proxyClosed: { action: LeaveRequest_Action.RESUME, reason: DisconnectReason.SERVER_SHUTDOWN },
  resumeFailed: { action: LeaveRequest_Action.RECONNECT, reason: DisconnectReason.STATE_MISMATCH },
};
export type LeaveCause = keyof typeof leaves;

export function encode(message: Message): Buffer {
  return Buffer.from(new SignalResponse({ message }).toBinary());
}

export function leaveMessage(cause: LeaveCause): Message {
  const { action, reason } = leaves[cause];
  return { case: 'leave', value: new LeaveRequest({ action, reason, canReconnect: action !== LeaveRequest_Action.DISCONNECT }) };
}

/** Of a client that cannot enter. A client that was in the room joins again until it is recreated, unless its end was final. */
export function refusalCause({ code, retryable }: Pick<ServiceError, 'code' | 'retryable'>, resuming: boolean): LeaveCause {
  if (retryable) return 'resumeFailed';
  if (resuming && code === 'room_not_found') return 'roomMoved';
  return resuming && code === 'room_ended' ? 'roomStopped' : 'joinFailed';
}

export type RoomState = {
  roomId: string;
  incarnation: string;
  metadata: Metadata | null;
  participants: number;
  /** True if the room is recorded or streamed. */
  recorded: boolean;
  capabilities: RtpCapabilities;
};

export function roomMessage({ roomId, incarnation, metadata, participants, recorded, capabilities }: RoomState): Room {
  return new Room({
    sid: roomSid(incarnation),
    name: roomId,
    metadata: textOf(metadata),
    numParticipants: participants,
    activeRecording: recorded,
    enabledCodecs: codecsOf(capabilities),
  });
}

export type JoinOptions = {
  room: RoomState;
  self: ReturnType<typeof participantInfo>;
  others: readonly Participant[];
  version: () => number;
  iceServers: readonly Record<string, unknown>[];
  fastPublish: boolean;
  /** The client has one peer connection. */
  single: boolean;
};

export function joinMessage({ room, self, others, version, iceServers, fastPublish, single }: JoinOptions): Message {
  const value = new JoinResponse({
    room: roomMessage(room),
    participant: self,
    otherParticipants: others.map((other) => participantInfo(other, version())),
    ...{ serverVersion, serverInfo: serverInfo(), pingInterval, pingTimeout },
    iceServers: iceServersOf(iceServers),
    // With two connections, the client connects with the offer of the server, and offers the other one when it publishes.
    subscriberPrimary: !single,
    fastPublish,
    enabledPublishCodecs: codecsOf(room.capabilities),
  });
  return { case: 'join', value };
}

export function serverInfo(): ServerInfo {
  return new ServerInfo({ version: serverVersion, protocol: protocolVersion });
}

export function iceServersOf(servers: readonly Record<string, unknown>[]): ICEServer[] {
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return servers.map(({ urls, username, credential }) => {
    const all = [urls].flat().filter((url): url is string => typeof url === 'string');
    return new ICEServer({ urls: all, username: text(username), credential: text(credential) });
  });
}

export function updateMessage(changes: readonly RosterChange[], version: () => number): Message {
  const participants = changes.map(({ participant, left }) => {
    const info = participantInfo(participant, version());
    if (left) info.state = ParticipantInfo_State.DISCONNECTED;
    return info;
  });
  return { case: 'update', value: new ParticipantUpdate({ participants }) };
}

/** Levels in dBov become a share of the full scale. `silent`: SIDs of those that were audible before. */
export function speakersMessage(levels: readonly (AudioLevel & { sid: string })[], silent: Iterable<string>): Message {
  const speakers = [
    ...levels.map(({ sid, level }) => new SpeakerInfo({ sid, active: true, level: Math.min(1, 10 ** (level / 20)) })),
    ...[...silent].map((sid) => new SpeakerInfo({ sid, active: false, level: 0 })),
  ];
  return { case: 'speakersChanged', value: new SpeakersChanged({ speakers }) };
}

function codecsOf({ codecs = [] }: RtpCapabilities): Codec[] {
  const mimeTypes = codecs.filter((codec) => !isRtx(codec)).map(({ mimeType }) => mimeType);
  return [...new Set(mimeTypes)].map((mime) => new Codec({ mime }));
}
