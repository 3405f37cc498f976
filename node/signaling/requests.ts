// Request handlers of peers: map each method of the protocol to one call of the domain.
import { ServiceError } from '../../api/errors.ts';
import { type Method, type RequestData, type ResponseData, requestSchemas } from '../../api/socket/peer.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import { parseData, type Request } from './frames.ts';

/** Handled by the session itself. */
type SessionMethod = 'authenticate' | 'checkConnection' | 'ping' | 'leave';
export type PeerMethod = Exclude<Method, SessionMethod>;
type Handlers = { [M in PeerMethod]: (peer: Peer, data: RequestData<M>) => ResponseData<M> | Promise<ResponseData<M>> };

const done = (result: void | Promise<void>): Record<string, never> | Promise<Record<string, never>> =>
  result instanceof Promise ? result.then(() => ({})) : {};

const handlers: Handlers = {
  join: (peer, { rtpCapabilities, metadata }) => {
    const { subscriptions } = peer.session;
    if (metadata !== undefined) peer.profile.setMetadata(metadata);
    return done(subscriptions.join(rtpCapabilities));
  },
  createTransport: ({ session }, { direction, ...options }) => session.createTransport(direction, options),
  connectTransport: ({ session }, { transportId, dtlsParameters }) =>
    done(session.paths.mediaOf(transportId).connectTransport(transportId, dtlsParameters)),
  restartIce: async ({ session }, { transportId }) => ({ iceParameters: await session.paths.mediaOf(transportId).restartIce(transportId) }),
  publish: ({ session }, data) => session.publications.publish(data),
  unpublish: ({ session }, { trackId }) => done(session.publications.removeTrack(trackId, 'publisher')),
  pauseTrack: ({ session }, { trackId }) => done(session.publications.setPaused(trackId, true)),
  resumeTrack: ({ session }, { trackId }) => done(session.publications.setPaused(trackId, false)),
  trackReady: ({ session }, { trackId }) => done(session.subscriptions.ready(trackId)),
  tracksReady: ({ session }, { trackIds, path }) => done(session.paths.tracksReady(trackIds, path)),
  subscribe: ({ session }, { trackId }) => done(session.subscriptions.subscribe(trackId)),
  unsubscribe: ({ session }, { trackId }) => done(session.subscriptions.unsubscribe(trackId)),
  setSubscription: ({ session }, { mode }) => done(session.subscriptions.setMode(mode)),
  setPreferredLayers: ({ session }, { trackId, ...layers }) => done(session.subscriptions.prefer(trackId, { layers })),
  setPriority: ({ session }, { trackId, priority }) => done(session.subscriptions.prefer(trackId, { priority })),
  tracksFlowing: ({ session }, { trackIds, path }) => done(session.paths.tracksFlowing(trackIds, path)),
  usePath: ({ session }, { path }) => done(session.paths.use(path)),
  setPeerMetadata: (peer, { metadata }) => done(peer.profile.setMetadata(metadata)),
  setAttributes: (peer, { attributes }) => done(peer.profile.setAttributes(attributes)),
  setTrackMetadata: ({ session }, { trackId, metadata }) => done(session.publications.setMetadata(trackId, metadata)),
  setRoomMetadata: ({ session }, { metadata }) => done(session.setRoomMetadata(metadata)),
  publishData: ({ session }, data) => session.publications.data.publish(data),
  unpublishData: ({ session }, { dataTrackId }) => done(session.publications.data.remove(dataTrackId)),
  dataReady: ({ session }, { dataTrackId, channel }) => done(session.paths.data.ready(dataTrackId, channel)),
  dataFlowing: ({ session }, { dataTrackId, channel }) => done(session.paths.data.flowing(dataTrackId, channel)),
  dataHeld: ({ session }, { dataTrackId, messages }) => done(session.publications.data.held(dataTrackId, messages)),
  sendData: ({ session }, data) => done(session.sendData(data)),
  setAudioLevels: ({ session }, { enabled }) => {
    session.audioLevels = enabled;
    return {};
  },
  setFeatures: ({ session }, { features }) => {
    session.paths.supported = features.includes('paths');
    session.publications.client.migrates = features.includes('migrate');
    session.publications.client.stopsLayers = features.includes('layersWanted');
    session.subscriptions.announcesTogether = features.includes('tracksSubscribed');
    return {};
  },
  sendRpc: ({ session }, data) => done(session.sendRpc(data)),
  respondRpc: ({ session }, data) => done(session.respondRpc(data)),
  getStats: ({ session }) => session.media.stats(),
};

/** Cost in units (PeerSession) of requests that are more expensive for the node or the media worker. */
const costs: { readonly [M in PeerMethod]?: (peer: Peer) => number } = {
  createTransport: () => 10,
  restartIce: () => 5,
  publish: () => 5,
  publishData: () => 5,
  setPeerMetadata: () => 5,
  setAttributes: () => 5,
  setTrackMetadata: () => 5,
  setRoomMetadata: () => 5,
  // Each track needs a separate request to the media worker.
  getStats: (peer) => 10 + (peer.connected ? peer.session.publications.count + peer.session.subscriptions.size : 0) / 8,
};

export function costOf(peer: Peer, method: string): number {
  return isPeerMethod(method) ? (costs[method]?.(peer) ?? 0) : 0;
}

/** False for requests that a peer may send while it waits to be admitted: its profile helps to decide about it. */
export function isHeld(method: string): boolean {
  return method !== 'leave' && method !== 'setPeerMetadata' && method !== 'setAttributes';
}

const offerMethods: ReadonlySet<string> = new Set<Method>(['trackReady', 'setPreferredLayers', 'setPriority', 'dataReady', 'dataFlowing']);

/** True for requests that a client sends for each offered track. */
export function answersOffer(method: string): boolean {
  return offerMethods.has(method);
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
