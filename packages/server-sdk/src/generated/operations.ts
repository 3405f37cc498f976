// Every call of the REST API, made by `npm run reference` from the OpenAPI document: do not edit.
import type {
  Access,
  Call,
  CallDigits,
  CallOptions,
  Component,
  ComponentOptions,
  ComponentSubscription,
  CreatedPeer,
  CreatedRoom,
  DeadLetter,
  DrainOptions,
  DrainView,
  FoundPeer,
  Health,
  Node,
  NodeConfig,
  PeerOptions,
  PeerPatch,
  PeerToken,
  RecordingReport,
  Recordings,
  Render,
  RenderOptions,
  Room,
  RoomData,
  RoomOptions,
  RoomPage,
  RoomPatch,
  RoomStats,
  ViewerToken,
  ViewerTokenOptions,
  WebhookReplay,
  WebhookStatus,
} from './schemas.ts';

export const operations = {
  createRoom: { method: 'POST', path: '/room' },
  listRooms: { method: 'GET', path: '/room' },
  getRoom: { method: 'GET', path: '/room/{roomId}' },
  updateRoom: { method: 'PATCH', path: '/room/{roomId}' },
  deleteRoom: { method: 'DELETE', path: '/room/{roomId}' },
  getRoomStats: { method: 'GET', path: '/room/{roomId}/stats' },
  sendData: { method: 'POST', path: '/room/{roomId}/data' },
  addPeer: { method: 'POST', path: '/room/{roomId}/peer' },
  getPeer: { method: 'GET', path: '/room/{roomId}/peer/{peerId}' },
  updatePeer: { method: 'PATCH', path: '/room/{roomId}/peer/{peerId}' },
  deletePeer: { method: 'DELETE', path: '/room/{roomId}/peer/{peerId}' },
  renewPeerToken: { method: 'POST', path: '/room/{roomId}/peer/{peerId}/token' },
  deleteTrack: { method: 'DELETE', path: '/room/{roomId}/track/{trackId}' },
  muteTrack: { method: 'POST', path: '/room/{roomId}/track/{trackId}/mute' },
  unmuteTrack: { method: 'POST', path: '/room/{roomId}/track/{trackId}/unmute' },
  addComponent: { method: 'POST', path: '/room/{roomId}/component' },
  getComponent: { method: 'GET', path: '/room/{roomId}/component/{componentId}' },
  deleteComponent: { method: 'DELETE', path: '/room/{roomId}/component/{componentId}' },
  subscribeComponent: { method: 'POST', path: '/room/{roomId}/component/{componentId}/subscribe' },
  startCall: { method: 'POST', path: '/sip/{roomId}/{componentId}/call' },
  endCalls: { method: 'DELETE', path: '/sip/{roomId}/{componentId}/call' },
  endCall: { method: 'DELETE', path: '/sip/{roomId}/{componentId}/call/{callId}' },
  sendDigits: { method: 'POST', path: '/sip/{roomId}/{componentId}/call/{callId}/dtmf' },
  createViewerToken: { method: 'POST', path: '/hls/{roomId}/token' },
  getHlsFile: { method: 'GET', path: '/hls/{roomId}/{file}' },
  renderRecording: { method: 'POST', path: '/recording/{recordingId}/render' },
  getRender: { method: 'GET', path: '/recording/{recordingId}/render' },
  cancelRender: { method: 'DELETE', path: '/recording/{recordingId}/render' },
  listRecordings: { method: 'GET', path: '/recording' },
  getRecording: { method: 'GET', path: '/recording/{recordingId}' },
  deleteRecording: { method: 'DELETE', path: '/recording/{recordingId}' },
  getRecordingFile: { method: 'GET', path: '/recording/{recordingId}/{file}' },
  listNodes: { method: 'GET', path: '/cluster/nodes' },
  getDrain: { method: 'GET', path: '/cluster/nodes/{nodeName}/drain' },
  drainNode: { method: 'POST', path: '/cluster/nodes/{nodeName}/drain' },
  cancelDrain: { method: 'DELETE', path: '/cluster/nodes/{nodeName}/drain' },
  getConfig: { method: 'GET', path: '/config' },
  getWebhooks: { method: 'GET', path: '/webhooks' },
  listDeadLetters: { method: 'GET', path: '/webhooks/dead' },
  replayDeadLetters: { method: 'POST', path: '/webhooks/dead/replay' },
  getAccess: { method: 'GET', path: '/access' },
  getHealth: { method: 'GET', path: '/health' },
} as const satisfies Record<string, { method: 'GET' | 'POST' | 'PATCH' | 'DELETE'; path: string }>;

export type OperationId = keyof typeof operations;

/** By operation: its query and body, and the body of what it answers. */
export type Operations = {
  /** Create a room on the node with the lowest load. */
  createRoom: {
    body: RoomOptions | undefined;
    answer: {
      data: CreatedRoom;
    };
  };
  /** List the rooms of the whole cluster. */
  listRooms: {
    query: {
      /** How many rooms to give at most. */
      limit?: number;
      /** The cursor of the page before. */
      cursor?: string;
    };
    answer: RoomPage;
  };
  /** Show a room. */
  getRoom: {
    answer: {
      data: Room;
    };
  };
  /** Change the configuration of a room while it lives. */
  updateRoom: {
    body: RoomPatch;
    answer: {
      data: Room;
    };
  };
  /** End a room and everything in it. */
  deleteRoom: {
    answer: undefined;
  };
  /** Show how the media of a room goes: links, tracks, loss, round trip, bitrates and layers. */
  getRoomStats: {
    answer: {
      data: RoomStats;
    };
  };
  /** Send a message to peers of a room. */
  sendData: {
    body: RoomData;
    answer: undefined;
  };
  /** Add a peer to a room and get its token. */
  addPeer: {
    body: PeerOptions;
    answer: {
      data: CreatedPeer;
    };
  };
  /** Show a peer. */
  getPeer: {
    answer: {
      data: FoundPeer;
    };
  };
  /** Change what a peer may do, in force at once. */
  updatePeer: {
    body: PeerPatch;
    answer: {
      data: FoundPeer;
    };
  };
  /** Remove a peer from its room. */
  deletePeer: {
    answer: undefined;
  };
  /** Get a fresh token for a peer; older ones stay good until they expire. */
  renewPeerToken: {
    answer: {
      data: PeerToken;
    };
  };
  /** Remove a track from its room. */
  deleteTrack: {
    answer: undefined;
  };
  /** Mute a track for everyone. It holds where its peer publishes it again, until it is lifted or the peer is removed. */
  muteTrack: {
    answer: undefined;
  };
  /** Unmute a track that the server muted, also one that ended muted and is to be published again. */
  unmuteTrack: {
    answer: undefined;
  };
  /** Add a component to a room. */
  addComponent: {
    body: ComponentOptions;
    answer: {
      data: Component;
    };
  };
  /** Show a component. */
  getComponent: {
    answer: {
      data: Component;
    };
  };
  /** End a component and remove it from its room. */
  deleteComponent: {
    answer: undefined;
  };
  /** Let a component in manual mode receive the tracks of peers and components. */
  subscribeComponent: {
    body: ComponentSubscription;
    answer: undefined;
  };
  /** Call a phone number. */
  startCall: {
    body: CallOptions;
    answer: {
      data: Call;
    };
  };
  /** Hang up all calls of a component. */
  endCalls: {
    answer: undefined;
  };
  /** Hang up a call. */
  endCall: {
    answer: undefined;
  };
  /** Press keys in a call. */
  sendDigits: {
    body: CallDigits;
    answer: undefined;
  };
  /** Make a token for viewers of a room, for players that cannot send headers. */
  createViewerToken: {
    body: ViewerTokenOptions | undefined;
    answer: {
      data: ViewerToken;
    };
  };
  /** Get a playlist, a segment or a part of the stream of a room. */
  getHlsFile: {
    query: {
      /** Media sequence number that the playlist is wanted from: the answer waits for it (RFC 8216bis, section 6.2.5.2). */
      _HLS_msn?: string;
      /** Part of it. */
      _HLS_part?: string;
      /** Old segments may be left out (section 6.2.5.1). */
      _HLS_skip?: 'YES' | 'v2';
      /** A viewer's token, in place of the header `authorization`. */
      token?: string;
    };
    answer: never;
  };
  /** Render one MP4 of a recording, which is then its file rendered.mp4. */
  renderRecording: {
    body: RenderOptions | undefined;
    answer: {
      data: Render;
    };
  };
  /** Show how far rendering a recording is. */
  getRender: {
    answer: {
      data: Render;
    };
  };
  /** Give up rendering a recording; what was rendered before stays. */
  cancelRender: {
    answer: undefined;
  };
  /** List the recordings of the whole cluster. */
  listRecordings: {
    query: {
      /** Whether to say of each what it is and what has become of its upload. */
      details?: 'true' | 'false';
    };
    answer: Recordings;
  };
  /** Show the report of a recording: its tracks, files and times. */
  getRecording: {
    answer: RecordingReport;
  };
  /** Remove a recording and all of its files. */
  deleteRecording: {
    answer: undefined;
  };
  /** Get a file of a recording. */
  getRecordingFile: {
    query: {
      /** A token of the room's viewers, in place of the header `authorization`. */
      token?: string;
    };
    answer: never;
  };
  /** List the connected nodes with their state and load. */
  listNodes: {
    answer: {
      data: Node[];
    };
  };
  /** Show what a drain of the node means now, or what one that runs waits for. */
  getDrain: {
    answer: {
      data: DrainView;
    };
  };
  /** Drain a node: no new rooms, rooms without connected peers end at once, the others at their end or at the deadline. */
  drainNode: {
    body: DrainOptions | undefined;
    answer: undefined;
  };
  /** Call a draining node back: it takes rooms again. */
  cancelDrain: {
    answer: undefined;
  };
  /** Show the configuration in force on the node that answers, or on another one. */
  getConfig: {
    query: {
      /** Name of the node: `<nodename>@<host>`. */
      node?: string;
    };
    answer: NodeConfig;
  };
  /** How far the webhooks of each node are, and which receivers are behind. */
  getWebhooks: {
    answer: {
      data: WebhookStatus[];
      /** Nodes that did not answer in time: what they have is missing. */
      incomplete: string[];
    };
  };
  /** Deliveries that were given up, of all nodes, the newest first. */
  listDeadLetters: {
    query: {
      /** Only those of this room. */
      roomId?: string;
      /** How many to give at most, 1 to 999; 100 where left out. */
      limit?: string;
    };
    answer: {
      data: DeadLetter[];
      /** Nodes that did not answer in time: what they have is missing. */
      incomplete: string[];
    };
  };
  /** Send dead letters of all nodes again, with the same webhook-id. */
  replayDeadLetters: {
    body: WebhookReplay | undefined;
    answer: {
      data: {
        replayed: number;
      };
      /** Nodes that did not answer in time: what they have is missing. */
      incomplete: string[];
    };
  };
  /** Tell what the token of the request may do. */
  getAccess: {
    answer: {
      data: Access;
    };
  };
  /** Show the health of the node that answers. */
  getHealth: {
    answer: {
      data: Health;
    };
  };
};
