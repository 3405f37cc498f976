// Handlers of operations on rooms of this node: their peers, tracks, components and phone calls.
import type { componentOperations } from '../../api/operations/components.ts';
import type { peerOperations } from '../../api/operations/peers.ts';
import type { roomOperations } from '../../api/operations/rooms.ts';
import type { sipOperations } from '../../api/operations/sip.ts';
import { peerSocketPath } from '../../api/peer.ts';
import type { FoundPeer, LocalRooms } from './local-rooms.ts';
import type { Handlers } from './services/operations.ts';

type Operations = Omit<typeof roomOperations, 'createRoom' | 'listRooms'> &
  typeof peerOperations &
  typeof componentOperations &
  typeof sipOperations;

export function roomHandlers(rooms: LocalRooms): Handlers<Operations> {
  return {
    getRoom: ({ params }) => rooms.getRoom(params.roomId),
    getRoomStats: ({ params }) => rooms.getRoomStats(params.roomId),
    updateRoom: ({ params, body }) => rooms.patchRoom(params.roomId, body),
    deleteRoom: ({ params }) => rooms.deleteRoom(params.roomId),
    sendData: ({ params, body }) => rooms.sendData(params.roomId, body),
    addPeer: async ({ params, body }) => {
      const { created, token, ...found } = await rooms.addPeer(params.roomId, body);
      return { created, data: { ...peerOf(found), token } };
    },
    getPeer: async ({ params }) => peerOf(await rooms.getPeer(params.roomId, params.peerId)),
    updatePeer: async ({ params, body }) => peerOf(await rooms.patchPeer(params.roomId, params.peerId, body)),
    deletePeer: ({ params }) => rooms.deletePeer(params.roomId, params.peerId),
    renewPeerToken: async ({ params }) => ({ token: await rooms.renewPeerToken(params.roomId, params.peerId) }),
    deleteTrack: ({ params }) => rooms.removeTrack(params.roomId, params.trackId),
    muteTrack: ({ params }) => rooms.setTrackMuted(params.roomId, params.trackId, true),
    unmuteTrack: ({ params }) => rooms.setTrackMuted(params.roomId, params.trackId, false),
    addComponent: async ({ params, body }) => {
      const { created, component } = await rooms.addComponent(params.roomId, body);
      return { created, data: component };
    },
    getComponent: ({ params }) => rooms.getComponent(params.roomId, params.componentId),
    deleteComponent: ({ params }) => rooms.deleteComponent(params.roomId, params.componentId),
    subscribeComponent: ({ params, body }) => rooms.subscribeComponent(params.roomId, params.componentId, body.origins),
    startCall: ({ params, body }) => rooms.startCall(params.roomId, params.componentId, body),
    endCalls: ({ params }) => rooms.endCalls(params.roomId, params.componentId, null),
    endCall: ({ params }) => rooms.endCalls(params.roomId, params.componentId, params.callId),
    sendDigits: ({ params, body }) => rooms.sendDigits(params.roomId, params.componentId, params.callId, body.digits),
  };
}

function peerOf({ peer, address }: FoundPeer): { peer: FoundPeer['peer']; peer_websocket_url: string } {
  return { peer, peer_websocket_url: address + peerSocketPath };
}
