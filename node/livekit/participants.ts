// Participants as LiveKit clients see them: peers and components of a room in the messages of their protocol.
import {
  Encryption_Type,
  ParticipantInfo,
  ParticipantInfo_Kind,
  ParticipantInfo_State,
  TrackInfo,
  TrackSource,
  TrackType,
} from '@livekit/protocol';
import type { ComponentType } from '../../api/component/types.ts';
import type { Metadata } from '../../api/json.ts';
import type { Attributes, AttributesPatch, Permissions } from '../../api/peer.ts';
import { type Kind, type Source, sourceSchema, type TrackView } from '../../api/track.ts';
import { participantSid, trackSid } from './ids.ts';

/** A peer or a component. `id`: of the peer or the component. */
export type Participant = {
  id: string;
  sid: string;
  identity: string;
  kind: ParticipantInfo_Kind;
  metadata: Metadata | null;
  attributes: Attributes;
  tracks: readonly TrackView[];
};
/** What a client describes of a track that it publishes, as metadata of the track. */
export type TrackDescription = { source?: string; name?: string; width?: number; height?: number; stream?: string; encryption?: string };

const sources: Readonly<Record<Source, TrackSource>> = {
  camera: TrackSource.CAMERA,
  microphone: TrackSource.MICROPHONE,
  screen: TrackSource.SCREEN_SHARE,
  screenSound: TrackSource.SCREEN_SHARE_AUDIO,
};
export const kindOfSource: Readonly<Record<Source, Kind>> = { camera: 'video', microphone: 'audio', screen: 'video', screenSound: 'audio' };
const sourceNames = sourceSchema.options;
const componentKinds: Partial<Record<ComponentType, ParticipantInfo_Kind>> = {
  file: ParticipantInfo_Kind.INGRESS,
  sip: ParticipantInfo_Kind.SIP,
};
const mimeTypes: Readonly<Record<string, string>> = {
  opus: 'audio/opus',
  vp8: 'video/VP8',
  h264: 'video/H264',
  vp9: 'video/VP9',
  av1: 'video/AV1',
};

export function peerParticipant(
  peer: { id: string; metadata: Metadata | null; attributes?: Attributes | undefined; tracks: readonly TrackView[] },
  identity: string,
  agent = false,
): Participant {
  const { id, metadata, attributes = {}, tracks } = peer;
  return { id, sid: participantSid(id), identity, kind: kindOf(agent), metadata, attributes, tracks };
}

export function kindOf(agent: boolean): ParticipantInfo_Kind {
  return agent ? ParticipantInfo_Kind.AGENT : ParticipantInfo_Kind.STANDARD;
}

type ComponentOf = { id: string; type: ComponentType; tracks: readonly TrackView[] };

/** @returns undefined for components that publish nothing: recordings and streams */
export function componentParticipant({ id, type, tracks }: ComponentOf): Participant | undefined {
  const kind = componentKinds[type];
  if (kind === undefined) return undefined;
  return { id, sid: participantSid(id), identity: id, kind, metadata: { name: type }, attributes: {}, tracks };
}

/** `version` grows with each message about participants of a connection. */
export function participantInfo(participant: Participant, version: number, permissions?: Permissions, hidden = false): ParticipantInfo {
  const { sid, identity, kind, metadata, attributes, tracks } = participant;
  return new ParticipantInfo({
    ...{ sid, identity, kind, version, ...namesOf(metadata) },
    attributes: { ...attributes },
    state: ParticipantInfo_State.ACTIVE,
    tracks: tracks.map(trackInfo),
    isPublisher: tracks.length > 0,
    ...(permissions && {
      permission: {
        canSubscribe: permissions.subscribe,
        canPublish: permissions.publish.length > 0,
        canPublishSources: publishableSources(permissions),
        canPublishData: permissions.data,
        canUpdateMetadata: true,
        hidden,
      },
    }),
  });
}

export function trackInfo({ id, type, metadata, encoding, simulcast, paused, muted, encrypted }: TrackView): TrackInfo {
  const { source, name = '', width = 0, height = 0, stream = '', encryption } = descriptionOf(metadata);
  return new TrackInfo({
    ...{ sid: trackSid(id), name, width, height, stream, simulcast },
    type: type === 'audio' ? TrackType.AUDIO : TrackType.VIDEO,
    source: sourceOf(type, source),
    muted: paused || muted,
    encryption: encrypted ? (encryption === 'gcm' ? Encryption_Type.GCM : Encryption_Type.CUSTOM) : Encryption_Type.NONE,
    mimeType: mimeTypes[encoding ?? ''] ?? '',
    disableRed: true,
  });
}

/** Display name, and the rest of the metadata as text: the opposite of what an access token does. */
export function namesOf(metadata: Metadata | null): { name: string; metadata: string } {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return { name: '', metadata: textOf(metadata) };
  const { name, ...others } = metadata;
  const alone = Object.keys(others).join() === 'value' ? others.value : undefined;
  const rest = alone ?? (Object.keys(others).length > 0 ? others : null);
  return typeof name === 'string' ? { name, metadata: textOf(rest) } : { name: '', metadata: textOf(metadata) };
}

/** The metadata of a name and a text. */
export function metadataOf({ name, metadata: text }: { name: string; metadata: string }): Metadata | null {
  const metadata = parsed(text);
  if (name === '') return metadata;
  if (metadata === null) return { name };
  return typeof metadata === 'object' && !Array.isArray(metadata) ? { ...metadata, name } : { name, value: metadata };
}

/** In LiveKit's protocol, an empty text deletes an attribute. */
export function attributesPatchOf(attributes: Readonly<Record<string, string>>): AttributesPatch {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, value === '' ? null : value]));
}

/** The name of a source in the metadata of tracks. */
export function sourceName(source: TrackSource): Source | undefined {
  return sourceNames.find((each) => sources[each] === source);
}

/** Empty: all. */
function publishableSources({ publish, publishSources }: Permissions): TrackSource[] {
  const all = publish.length === 2 ? [] : sourceNames.filter((source) => publish.some((kind) => kindOfSource[source] === kind));
  const permitted = publishSources?.filter((source) => publish.includes(kindOfSource[source])) ?? all;
  return permitted.map((source) => sources[source]);
}

function sourceOf(type: TrackView['type'], source: string | undefined): TrackSource {
  const known = sourceNames.find((each) => each === source);
  // Applications of LiveKit show a camera and a microphone of each participant.
  if (known) return sources[known];
  if (source !== undefined) return TrackSource.UNKNOWN;
  return type === 'audio' ? TrackSource.MICROPHONE : TrackSource.CAMERA;
}

function descriptionOf(metadata: Metadata | null): TrackDescription {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return {};
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const number = (value: unknown) => (Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31 ? Number(value) : undefined);
  const { source, name, width, height, stream, encryption } = metadata;
  const texts = { source: text(source), name: text(name), stream: text(stream), encryption: text(encryption) };
  const found = { ...texts, width: number(width), height: number(height) };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

/** Metadata as text: JSON, unless it is a text itself. */
export function textOf(metadata: Metadata | null): string {
  if (metadata === null) return '';
  return typeof metadata === 'string' ? metadata : JSON.stringify(metadata);
}

function parsed(text: string): Metadata | null {
  if (text === '') return null;
  try {
    return JSON.parse(text) as Metadata;
  } catch {
    return text;
  }
}
