// Egresses: recordings and streams of rooms in the messages of LiveKit's server API.
import { EgressInfo, EgressStatus } from '@livekit/protocol';
import type { ComponentView } from '../../../api/component/component.ts';
import { idPattern } from '../../../api/core/id-pattern.ts';
import { roomSid } from '../ids.ts';

/** Components that an egress starts, stops and lists. */
export function isEgress({ type }: Pick<ComponentView, 'type'>): boolean {
  return type === 'hls' || type === 'recording';
}

/** Room and component, because LiveKit's clients stop an egress by its id alone. Ids contain no dot. */
export function egressId(roomId: string, componentId: string): string {
  return `EG_${roomId}.${componentId}`;
}

/** @returns undefined for an id of another form */
export function readEgressId(id: string): { roomId: string; componentId: string } | undefined {
  const [roomId = '', componentId = '', ...rest] = id.startsWith('EG_') ? id.slice(3).split('.') : [];
  return idPattern.test(roomId) && idPattern.test(componentId) && rest.length === 0 ? { roomId, componentId } : undefined;
}

type EgressRoom = { roomId: string; incarnation: string };

export function egressInfo({ roomId, incarnation }: EgressRoom, componentId: string, status = EgressStatus.EGRESS_ACTIVE): EgressInfo {
  return new EgressInfo({ egressId: egressId(roomId, componentId), roomId: roomSid(incarnation), roomName: roomId, status });
}
