// A room as the operator asks a node for it.

/** With every field of its request. */
export const roomRequest = {
  roomId: 'r',
  externalId: 'uid-1',
  videoCodec: null,
  maxPeers: 5,
  webhookUrl: null,
  peerlessPurgeTimeout: null,
  peerDisconnectedTimeout: 120,
};
