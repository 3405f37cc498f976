// Media of a LiveKit session: what its client publishes and receives over two peer connections, or over one, and its data.
import { MediaSectionsRequirement } from '@livekit/protocol';
import { transportOptionsSchema } from '../../../api/media-objects.ts';
import type { TransportUse } from '../../rooms/interfaces.ts';
import type { RoomSession } from '../../rooms/peers/room-session.ts';
import type { TransportOptions } from '../../sdp/answer.ts';
import type { RtpCapabilities } from '../../sdp/codecs.ts';
import type { DataChannels } from '../data/data-channels.ts';
import type { Message } from '../messages.ts';
import { Publisher, type PublisherOptions } from './publisher.ts';
import { SectionReceiver } from './section-receiver.ts';
import { Subscriber, type TrackReceiver } from './subscriber.ts';

export type SessionMedia = {
  publisher: Publisher;
  receiver: TrackReceiver;
  data: DataChannels;
  /** Begins to receive, unless the client begins. */
  start: () => void;
};
export type SessionMediaOptions = Pick<PublisherOptions, 'pauseDelay' | 'rejected'> & {
  room: RoomSession;
  /** Of the room. */
  capabilities: RtpCapabilities;
  data: DataChannels;
  send: (message: Message) => void;
  /** The client did not respond. */
  failed: (reason: string) => void;
};

/** @throws ServiceError of the media */
export async function openTwoConnections(options: SessionMediaOptions): Promise<SessionMedia> {
  const { room, capabilities, data, send, failed } = options;
  const subscriber = new Subscriber({ room, offer: (value) => send({ case: 'offer', value }), failed });
  const [transport] = await Promise.all([createTransport(room, 'send'), subscriber.prepare()]);
  const publisher = new Publisher({ ...options, transport });
  // Before the client can open a channel, whose first message would be lost.
  await data.open();
  return { publisher, receiver: subscriber, data, start: () => subscriber.start(capabilities) };
}

/** @throws ServiceError of the media */
export async function openOneConnection(options: SessionMediaOptions): Promise<SessionMedia> {
  const { room, data, send } = options;
  const request = (numAudios: number, numVideos: number) =>
    send({ case: 'mediaSectionsRequirement', value: new MediaSectionsRequirement({ numAudios, numVideos }) });
  const receiver = new SectionReceiver({ ...options, request });
  room.media.receiveIn(receiver);
  const transport = await createTransport(room, 'both');
  const opened = data.open();
  // Until an offer waits for it.
  opened.catch(() => {});
  const publisher = new Publisher({ ...options, receiver, transport, opened });
  return { publisher, receiver, data, start: () => {} };
}

async function createTransport(room: RoomSession, use: TransportUse): Promise<TransportOptions> {
  return transportOptionsSchema.parse(await room.createTransport(use, { sctp: true }));
}
