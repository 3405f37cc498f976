// Room requests: the REST requests for one room, sent by buttons and shown as command lines.
import type { ComponentType, Permissions } from '../../../../server-sdk/src/generated/schemas.ts';
import type { HttpRequest } from '../../api/curl.ts';

const path = (...steps: string[]) => steps.map(encodeURIComponent).join('/');

export function roomCalls(roomId: string) {
  const room = (...rest: string[]) => path('room', roomId, ...rest);
  const phone = (...rest: string[]) => path('sip', roomId, ...rest);
  return {
    show: (): HttpRequest => ({ method: 'GET', path: room() }),
    stats: (): HttpRequest => ({ method: 'GET', path: room('stats') }),
    mute: (trackId: string): HttpRequest => ({ method: 'POST', path: room('track', trackId, 'mute') }),
    unmute: (trackId: string): HttpRequest => ({ method: 'POST', path: room('track', trackId, 'unmute') }),
    unpublish: (trackId: string): HttpRequest => ({ method: 'DELETE', path: room('track', trackId) }),
    permit: (peerId: string, permissions: Permissions): HttpRequest => ({
      method: 'PATCH',
      path: room('peer', peerId),
      body: { permissions },
    }),
    removePeer: (peerId: string): HttpRequest => ({ method: 'DELETE', path: room('peer', peerId) }),
    addComponent: (type: ComponentType, options: object): HttpRequest => ({
      method: 'POST',
      path: room('component'),
      body: { type, options },
    }),
    removeComponent: (componentId: string): HttpRequest => ({ method: 'DELETE', path: room('component', componentId) }),
    subscribe: (componentId: string, origins: readonly string[]): HttpRequest => ({
      method: 'POST',
      path: room('component', componentId, 'subscribe'),
      body: { origins },
    }),
    dial: (componentId: string, phoneNumber: string): HttpRequest => ({
      method: 'POST',
      path: phone(componentId, 'call'),
      body: { phoneNumber },
    }),
    hangUp: (componentId: string, callId: string): HttpRequest => ({ method: 'DELETE', path: phone(componentId, 'call', callId) }),
    press: (componentId: string, callId: string, digits: string): HttpRequest => ({
      method: 'POST',
      path: phone(componentId, 'call', callId, 'dtmf'),
      body: { digits },
    }),
    viewerToken: (expiresIn: number): HttpRequest => ({ method: 'POST', path: path('hls', roomId, 'token'), body: { expiresIn } }),
  };
}
export type RoomCalls = ReturnType<typeof roomCalls>;
