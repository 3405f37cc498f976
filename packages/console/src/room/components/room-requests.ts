// Room requests: the REST requests for one room, sent by buttons and shown as command lines.
import type { Admission, ComponentOptions, ComponentType, Permissions } from '../../../../server-sdk/src/generated/schemas.ts';
import { operationRequest } from '../../api/operation-request.ts';

export function roomRequests(roomId: string) {
  const path = { roomId };
  return {
    stats: () => operationRequest('getRoomStats', { path }),
    mute: (trackId: string) => operationRequest('muteTrack', { path: { roomId, trackId } }),
    unmute: (trackId: string) => operationRequest('unmuteTrack', { path: { roomId, trackId } }),
    unpublish: (trackId: string) => operationRequest('deleteTrack', { path: { roomId, trackId } }),
    permit: (peerId: string, permissions: Permissions) =>
      operationRequest('updatePeer', { path: { roomId, peerId }, body: { permissions } }),
    admit: (peerId: string) => operationRequest('admitPeer', { path: { roomId, peerId } }),
    deny: (peerId: string) => operationRequest('denyPeer', { path: { roomId, peerId } }),
    admitWaiting: () => operationRequest('admitWaiting', { path }),
    setAdmission: (admission: Admission) => operationRequest('updateRoom', { path, body: { admission } }),
    move: (peerId: string) => operationRequest('movePeer', { path: { roomId, peerId } }),
    removePeer: (peerId: string) => operationRequest('deletePeer', { path: { roomId, peerId } }),
    addComponent: (type: ComponentType, options: object) =>
      operationRequest('addComponent', { path, body: { type, options } as ComponentOptions }),
    removeComponent: (componentId: string) => operationRequest('deleteComponent', { path: { roomId, componentId } }),
    subscribe: (componentId: string, origins: readonly string[]) =>
      operationRequest('subscribeComponent', { path: { roomId, componentId }, body: { origins: [...origins] } }),
    dial: (componentId: string, phoneNumber: string) =>
      operationRequest('startCall', { path: { roomId, componentId }, body: { phoneNumber } }),
    hangUp: (componentId: string, callId: string) => operationRequest('endCall', { path: { roomId, componentId, callId } }),
    press: (componentId: string, callId: string, digits: string) =>
      operationRequest('sendDigits', { path: { roomId, componentId, callId }, body: { digits } }),
    viewerToken: (expiresIn: number) => operationRequest('createViewerToken', { path, body: { expiresIn } }),
  };
}
export type RoomRequests = ReturnType<typeof roomRequests>;
