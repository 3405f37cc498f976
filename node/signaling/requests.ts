// Request handlers of peers: map each method of the protocol to one call of the domain.
import { ServiceError } from '../../api/errors.ts';
import { type Method, type RequestData, type ResponseData, requestSchemas } from '../../api/socket/peer.ts';
import type { Peer } from '../rooms/peer.ts';
import { parseData, type Request } from './frames.ts';

/** Handled by the session itself. */
type SessionMethod = 'authenticate' | 'checkConnection' | 'ping' | 'leave';
export type PeerMethod = Exclude<Method, SessionMethod>;
type Handlers = { [M in PeerMethod]: (peer: Peer, data: RequestData<M>) => ResponseData<M> | Promise<ResponseData<M>> };

const done = (result: void | Promise<void>): Record<string, never> | Promise<Record<string, never>> =>
  result instanceof Promise ? result.then(() => ({})) : {};

const handlers: Handlers = {
  join: (peer, data) => done(peer.join(data)),
  createTransport: (peer, { direction, sctp }) => peer.createTransport(direction, { sctp }),
  connectTransport: (peer, { transportId, dtlsParameters }) => done(peer.connectTransport(transportId, dtlsParameters)),
  restartIce: async (peer, { transportId }) => ({ iceParameters: await peer.restartIce(transportId) }),
  publish: (peer, data) => peer.publish(data),
  unpublish: (peer, { trackId }) => done(peer.unpublish(trackId)),
  pauseTrack: (peer, { trackId }) => done(peer.pauseTrack(trackId)),
  resumeTrack: (peer, { trackId }) => done(peer.resumeTrack(trackId)),
  trackReady: (peer, { trackId }) => done(peer.trackReady(trackId)),
  tracksReady: (peer, { trackIds }) => done(peer.subscriptions?.allReady(trackIds)),
  subscribe: (peer, { trackId }) => done(peer.subscribe(trackId)),
  unsubscribe: (peer, { trackId }) => done(peer.unsubscribe(trackId)),
  setSubscription: (peer, { mode }) => done(peer.setSubscription(mode)),
  setPreferredLayers: (peer, { trackId, ...layers }) => done(peer.setPreferredLayers(trackId, layers)),
  setPriority: (peer, { trackId, priority }) => done(peer.setPriority(trackId, priority)),
  setPeerMetadata: (peer, { metadata }) => done(peer.setMetadata(metadata)),
  setTrackMetadata: (peer, { trackId, metadata }) => done(peer.setTrackMetadata(trackId, metadata)),
  publishData: (peer, data) => peer.publishData(data),
  unpublishData: (peer, { dataTrackId }) => done(peer.unpublishData(dataTrackId)),
  sendData: (peer, data) => done(peer.sendData(data)),
  getStats: (peer) => peer.stats(),
};

/** Cost in units (PeerSession) of requests that are more expensive for the node or the media worker. */
const costs: { readonly [M in PeerMethod]?: (peer: Peer) => number } = {
  createTransport: () => 10,
  restartIce: () => 5,
  publish: () => 5,
  publishData: () => 5,
  setPeerMetadata: () => 5,
  setTrackMetadata: () => 5,
  // Each track needs a separate request to the media worker.
  getStats: (peer) => 10 + peer.trackCount / 8,
};

export function costOf(peer: Peer, method: string): number {
  return isPeerMethod(method) ? (costs[method]?.(peer) ?? 0) : 0;
}

/** True for requests that a client sends for each offered track. */
export function answersOffer(method: string): boolean {
  return method === 'trackReady' || method === 'setPreferredLayers' || method === 'setPriority';
}

/** Executes a request. @throws ServiceError for an unknown method, invalid data and errors of the domain. */
export async function handleRequest(peer: Peer, request: Request): Promise<Record<string, unknown>> {
  if (!isPeerMethod(request.method)) {
    throw new ServiceError('bad_request', `Unknown method: ${JSON.stringify(request.method)}`);
  }
  return call(request.method, peer, request.data);
}

function isPeerMethod(method: string): method is PeerMethod {
  return Object.hasOwn(handlers, method);
}

function call<M extends PeerMethod>(method: M, peer: Peer, data: unknown): ResponseData<M> | Promise<ResponseData<M>> {
  // The schema of a method returns its data type; TypeScript loses that through the generic index.
  return handlers[method](peer, parseData(requestSchemas[method], data) as RequestData<M>);
}
