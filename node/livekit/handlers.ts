// Handlers of requests of LiveKit clients: map each to calls of the domain.
import { RequestResponse, RequestResponse_Reason } from '@livekit/protocol';
import { type ErrorCode, ServiceError } from '../../api/errors.ts';
import type { TrackView } from '../../api/track.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import { trackSid } from './ids.ts';
import type { Publisher } from './media/publisher.ts';
import { spatialLayer } from './media/simulcast.ts';
import type { TrackReceiver } from './media/subscriber.ts';
import type { Message } from './messages.ts';
import { attributesPatchOf, metadataOf } from './participants.ts';
import type { Request, RequestData, RequestMethod } from './requests.ts';
import { type RoomView, unpublishedMessage } from './room-view.ts';

/** What a handler uses of its session. */
export type HandlerContext = {
  peer: Peer;
  publisher: Publisher;
  receiver: TrackReceiver;
  view: RoomView;
  send: (message: Message) => void;
};
/** Handled by the session itself. */
type SessionMethod = 'ping' | 'pingReq' | 'leave';
type HandledMethod = Exclude<RequestMethod, SessionMethod>;
type Handlers = { [Method in HandledMethod]: (context: HandlerContext, data: RequestData<Method>) => void | Promise<void> };

const qualityOff = 3;

const handlers: Handlers = {
  offer: async ({ publisher, view, send }, data) => {
    const value = await publisher.offered(data);
    send({ case: 'answer', value });
    send(view.ownUpdate());
    await publisher.answerSent();
  },
  answer: ({ receiver }, data) => receiver.answered(data),
  // The media worker is ICE lite: it learns the addresses of the client from connectivity checks.
  trickle: () => {},
  addTrack: ({ publisher, send }, data) => send({ case: 'trackPublished', value: publisher.announce(data) }),
  mute: async ({ publisher, view, send }, data) => {
    await publisher.mute(data);
    send(view.ownUpdate());
  },
  subscription: async ({ peer, view }, { trackSids, participantTracks, subscribe }) => {
    const { subscriptions } = peer.session;
    for (const trackId of view.roster.trackIds([...trackSids, ...participantTracks.flatMap((each) => each.trackSids)])) {
      if (subscribe) await subscriptions.subscribe(trackId);
      else if (subscriptions.has(trackId)) subscriptions.unsubscribe(trackId);
    }
  },
  subscriptionPermission: ({ peer, publisher, view }, { allParticipants, trackPermissions }) => {
    const named = trackPermissions.map(({ participantIdentity, participantSid, allTracks, trackSids }) => {
      const identity = participantIdentity || view.roster.identity(participantSid);
      return [identity ?? '', allTracks ? 'all' : new Set(publisher.trackIds(trackSids))] as const;
    });
    peer.session.publications.setReceivers(allParticipants ? 'all' : new Map(named));
  },
  trackSetting: async (context, { trackSids, ...setting }) => {
    const { roster } = context.view;
    for (const trackId of roster.trackIds(trackSids)) {
      const track = roster.track(trackId);
      if (track && context.peer.session.subscriptions.has(track.id)) await applySetting(context, track, setting);
    }
  },
  syncState: async (context, { subscription, publishTracks, trackSidsDisabled }) => {
    const { peer, publisher, receiver, view, send } = context;
    const published = publishTracks.flatMap(({ track }) => track?.sid ?? []);
    const known = new Set(publisher.trackIds(published).map(trackSid));
    // The server removed them while the client had no connection.
    for (const sid of published) if (!known.has(sid)) send(unpublishedMessage(sid));
    if (subscription) await handlers.subscription(context, subscription);
    for (const trackId of view.roster.trackIds(trackSidsDisabled))
      if (peer.session.subscriptions.has(trackId)) await receiver.visible.set(trackId, false);
  },
  updateMetadata: ({ peer, view, send }, data) => {
    const respond = (reason: RequestResponse_Reason, message = '') =>
      send({ case: 'requestResponse', value: new RequestResponse({ requestId: data.requestId, reason, message }) });
    try {
      const metadata = metadataOf(data);
      const attributes = attributesPatchOf(data.attributes);
      peer.profile.setAttributes(attributes);
      peer.profile.setMetadata(metadata);
      send(view.changedOwn(metadata, attributes));
      respond(RequestResponse_Reason.OK);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      respond(reasons[error.code] ?? RequestResponse_Reason.UNCLASSIFIED_ERROR, error.message);
    }
  },
};

const reasons: Partial<Record<ErrorCode, RequestResponse_Reason>> = {
  forbidden: RequestResponse_Reason.NOT_ALLOWED,
  too_large: RequestResponse_Reason.LIMIT_EXCEEDED,
};
/** Cost in units (RequestQueue) of requests that are more expensive for the node or the media worker. */
const costs: Partial<Record<RequestMethod, number>> = { offer: 5, addTrack: 1, updateMetadata: 5, subscriptionPermission: 5, syncState: 5 };

export function costOf({ method }: Request): number {
  return costs[method] ?? 0;
}

/** True for messages whose number depends on what the server offers, and on the network. */
export function isResponse({ method }: Request): boolean {
  return method === 'answer' || method === 'trackSetting' || method === 'subscription' || method === 'trickle';
}

/** @throws ServiceError of the domain */
export async function handleRequest(context: HandlerContext, request: Request): Promise<void> {
  if (isHandled(request)) await call(context, request);
}

function isHandled(request: Request): request is Request & { method: HandledMethod } {
  return Object.hasOwn(handlers, request.method);
}

function call<Method extends HandledMethod>(
  context: HandlerContext,
  { method, data }: { method: Method; data: unknown },
): void | Promise<void> {
  // The schema of a method returns its data type; TypeScript loses that through the generic index.
  return handlers[method](context, data as RequestData<Method>);
}

async function applySetting(
  { peer, receiver }: HandlerContext,
  track: TrackView,
  setting: Omit<RequestData<'trackSetting'>, 'trackSids'>,
): Promise<void> {
  const visible = !setting.disabled && setting.quality !== qualityOff;
  await receiver.visible.set(track.id, visible);
  // Also of a track without layers: its backup may have some.
  if (visible && track.type === 'video')
    await peer.session.subscriptions.prefer(track.id, { layers: { spatialLayer: spatialLayer(track, setting) } });
}
