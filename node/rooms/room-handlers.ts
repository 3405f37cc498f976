// Handlers of operations on rooms of this node: their peers, tracks, components and phone calls.
import type { componentOperations } from '../../api/operations/components.ts';
import type { peerOperations } from '../../api/operations/peers.ts';
import type { roomOperations } from '../../api/operations/rooms.ts';
import type { sipOperations } from '../../api/operations/sip.ts';
import { peerSocketPath } from '../../api/peer.ts';
import type { LocalRooms } from './local-rooms.ts';
import type { Peer } from './peers/peer.ts';
import type { Handlers } from './services/operations.ts';

type Operations = Omit<typeof roomOperations, 'createRoom' | 'listRooms'> &
  typeof peerOperations &
  typeof componentOperations &
  typeof sipOperations;

export function roomHandlers(rooms: LocalRooms): Handlers<Operations> {
  const peerOf = ({ roomId, peerId }: { roomId: string; peerId: string }) => rooms.room(roomId).peers.get(peerId);
  const componentOf = ({ roomId, componentId }: { roomId: string; componentId: string }) => rooms.room(roomId).components.get(componentId);
  const viewOf = (peer: Peer) => ({ peer: peer.view(), peer_websocket_url: rooms.address + peerSocketPath });
  return {
    getRoom: ({ params }) => rooms.room(params.roomId).view(),
    getRoomStats: ({ params }) => rooms.room(params.roomId).stats(),
    updateRoom: ({ params, body }) => {
      const room = rooms.room(params.roomId);
      room.patch(body);
      return room.view();
    },
    deleteRoom: ({ params }) => rooms.room(params.roomId).close('deleted'),
    sendData: ({ params, body }) => rooms.room(params.roomId).sendData(body),
    addPeer: async ({ params, body }) => {
      const { created, peer, token } = await rooms.addPeer(params.roomId, body);
      return { created, data: { ...viewOf(peer), token } };
    },
    getPeer: ({ params }) => viewOf(peerOf(params)),
    updatePeer: ({ params, body }) => {
      const peer = peerOf(params);
      const { permissions, ...profile } = body;
      peer.profile.update(profile);
      if (permissions) peer.rights.change(permissions);
      return viewOf(peer);
    },
    admitPeer: ({ params }) => peerOf(params).admission.admit(),
    denyPeer: ({ params }) => rooms.room(params.roomId).peers.deny(params.peerId),
    admitWaiting: ({ params }) => rooms.room(params.roomId).peers.admitWaiting(),
    requestRpc: async ({ params, body }) => ({ payload: await rooms.room(params.roomId).rpcs.request(null, peerOf(params), body) }),
    movePeer: ({ params, body }) => peerOf(params).session.paths.move(body?.worker),
    deletePeer: ({ params }) => rooms.room(params.roomId).peers.delete(params.peerId),
    renewPeerToken: async ({ params }) => ({ token: await rooms.signPeerToken(peerOf(params)) }),
    deleteTrack: ({ params }) => rooms.room(params.roomId).publisherOf(params.trackId).removeTrack(params.trackId),
    muteTrack: ({ params }) => rooms.room(params.roomId).setTrackMuted(params.trackId, true),
    unmuteTrack: ({ params }) => rooms.room(params.roomId).setTrackMuted(params.trackId, false),
    addComponent: async ({ params, body }) => {
      const { created, component } = await rooms.room(params.roomId).components.add(body);
      return { created, data: component.view() };
    },
    getComponent: ({ params }) => componentOf(params).view(),
    deleteComponent: ({ params }) => componentOf(params).remove('removed'),
    subscribeComponent: ({ params, body }) => componentOf(params).subscribe(body.origins),
    startCall: ({ params, body }) => componentOf(params).calls.start(body.phoneNumber),
    endCalls: ({ params }) => componentOf(params).calls.end(undefined),
    endCall: ({ params }) => componentOf(params).calls.end(params.callId),
    sendDigits: ({ params, body }) => componentOf(params).calls.sendDigits(params.callId, body.digits),
  };
}
