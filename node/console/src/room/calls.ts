// What can be done in a room, as calls of the REST API: the buttons make them, and show them as command lines.
import type { ComponentType, Permissions } from '../../../sdk/src/generated/schemas.ts';
import type { Call } from '../api/curl.ts';

const path = (...steps: string[]) => steps.map(encodeURIComponent).join('/');

export function roomCalls(roomId: string) {
  const room = (...rest: string[]) => path('room', roomId, ...rest);
  const phone = (...rest: string[]) => path('sip', roomId, ...rest);
  return {
    show: (): Call => ({ method: 'GET', path: room() }),
    stats: (): Call => ({ method: 'GET', path: room('stats') }),
    mute: (trackId: string): Call => ({ method: 'POST', path: room('track', trackId, 'mute') }),
    unmute: (trackId: string): Call => ({ method: 'POST', path: room('track', trackId, 'unmute') }),
    unpublish: (trackId: string): Call => ({ method: 'DELETE', path: room('track', trackId) }),
    permit: (peerId: string, permissions: Permissions): Call => ({ method: 'PATCH', path: room('peer', peerId), body: { permissions } }),
    removePeer: (peerId: string): Call => ({ method: 'DELETE', path: room('peer', peerId) }),
    addComponent: (type: ComponentType, options: object): Call => ({ method: 'POST', path: room('component'), body: { type, options } }),
    removeComponent: (componentId: string): Call => ({ method: 'DELETE', path: room('component', componentId) }),
    subscribe: (componentId: string, origins: readonly string[]): Call => ({
      method: 'POST',
      path: room('component', componentId, 'subscribe'),
      body: { origins },
    }),
    dial: (componentId: string, phoneNumber: string): Call => ({ method: 'POST', path: phone(componentId, 'call'), body: { phoneNumber } }),
    hangUp: (componentId: string, callId: string): Call => ({ method: 'DELETE', path: phone(componentId, 'call', callId) }),
    press: (componentId: string, callId: string, digits: string): Call => ({
      method: 'POST',
      path: phone(componentId, 'call', callId, 'dtmf'),
      body: { digits },
    }),
    viewerToken: (expiresIn: number): Call => ({ method: 'POST', path: path('hls', roomId, 'token'), body: { expiresIn } }),
  };
}
export type RoomCalls = ReturnType<typeof roomCalls>;
