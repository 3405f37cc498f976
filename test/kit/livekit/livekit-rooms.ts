// Rooms on fake media whose capabilities and transports are those of a media worker, so that LiveKit sessions can write SDP.
import type { TestContext } from 'node:test';
import { generateRouterRtpCapabilities } from 'mediasoup/ortc';
import type { Kind } from '../../../api/track.ts';
import { clientCapabilities, roomCodecs } from '../../../node/media/codecs.ts';
import type { WireObject } from '../../../node/rooms/interfaces.ts';
import { makeRooms, type TestRooms } from '../fakes/rooms.ts';

const capabilities = clientCapabilities(generateRouterRtpCapabilities(roomCodecs(null)) as never);
const transport = {
  iceParameters: { usernameFragment: 'first', password: 'password', iceLite: true },
  iceCandidates: [{ foundation: 'f', priority: 1, ip: '192.0.2.1', address: '192.0.2.1', protocol: 'udp', port: 1, type: 'host' }],
  dtlsParameters: { role: 'auto', fingerprints: [{ algorithm: 'sha-256', value: Array(32).fill('AB').join(':') }] },
  sctpParameters: { port: 5000, OS: 1024, MIS: 1024, maxMessageSize: 262_144 },
};

let received = 0;

/** As of a receiver of the media worker. */
function receiverParameters(kind: Kind): WireObject {
  received += 1;
  const codecs = capabilities.codecs?.filter((codec) => codec.kind === kind).slice(0, 1) ?? [];
  return {
    mid: String(received),
    codecs: codecs.map((codec) => ({ ...codec, payloadType: codec.preferredPayloadType })),
    headerExtensions: [],
    encodings: [{ ssrc: received }],
    rtcp: { cname: 'c' },
  };
}

/** With the room `room`. A restart of ICE has the username fragment `second`. */
export async function makeLiveKitRooms(t: TestContext): Promise<TestRooms> {
  const made = makeRooms();
  await made.rooms.createRoom({ roomId: 'room', metadata: { topic: 'tests' } });
  const room = made.media.room('room');
  t.mock.method(room, 'rtpCapabilities', async () => capabilities);
  const openPeer = room.openPeer.bind(room);
  t.mock.method(room, 'openPeer', (...given: Parameters<typeof openPeer>) => {
    const peerMedia = openPeer(...given);
    const createTransport = peerMedia.createTransport.bind(peerMedia);
    const subscribe = peerMedia.subscribe.bind(peerMedia);
    return Object.assign(peerMedia, {
      createTransport: async (...which: Parameters<typeof createTransport>) => ({ ...(await createTransport(...which)), ...transport }),
      subscribe: async (...which: Parameters<typeof subscribe>) => {
        const subscription = await subscribe(...which);
        return (
          subscription && { ...subscription, rtpParameters: { ...receiverParameters(subscription.kind), ...subscription.rtpParameters } }
        );
      },
      restartIce: async () => ({ ...transport.iceParameters, usernameFragment: 'second' }),
    });
  });
  return made;
}
