// A room request as the operator sends it to a node.

/** Sets every field of the request. */
export const roomRequest = {
  roomId: 'r',
  externalId: 'uid-1',
  videoCodec: null,
  maxPeers: 5,
  webhookUrl: null,
  peerlessPurgeTimeout: null,
  peerDisconnectedTimeout: 120,
};
