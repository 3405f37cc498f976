// Claims of the access token with which the participant of an agent's job joins the room.
import { TrackSource } from '@livekit/protocol';
import type { AgentJob } from '../../../api/operations/agent-rpcs.ts';
import type { AgentPermissions, Availability } from './worker-messages.ts';

const sources: Readonly<Record<number, string>> = {
  [TrackSource.CAMERA]: 'camera',
  [TrackSource.MICROPHONE]: 'microphone',
  [TrackSource.SCREEN_SHARE]: 'screen_share',
  [TrackSource.SCREEN_SHARE_AUDIO]: 'screen_share_audio',
};

/** `now`: seconds since 1970. */
export function jobClaims(
  { roomId, again }: AgentJob,
  participant: Omit<Availability, 'jobId' | 'available' | 'terminate'>,
  permissions: AgentPermissions | undefined,
  now = Math.floor(Date.now() / 1000),
): Record<string, unknown> {
  const { participantIdentity: sub, participantName: name, participantMetadata: metadata, participantAttributes: attributes } = participant;
  const { canPublish, canSubscribe, canPublishData, hidden, canPublishSources = [] } = permissions ?? {};
  const named = canPublishSources.flatMap((source) => sources[source] ?? []);
  return {
    sub,
    // Tokens of the job before this one are revoked, which includes those issued in the same second.
    ...(again && { iat: now + 1 }),
    ...(name && { name }),
    ...(metadata && { metadata }),
    ...(Object.keys(attributes).length > 0 && { attributes }),
    kind: 'agent',
    video: {
      ...{ room: roomId, roomJoin: true, agent: true, canPublish, canSubscribe, canPublishData, hidden },
      ...(named.length > 0 && { canPublishSources: named }),
    },
  };
}
