// Media kit: a joined room client with the fake WebRTC handler of mediasoup-client, against a server that accepts its publications.
import type { TestContext } from 'node:test';
import { FakeHandler, testFakeParameters, type types } from 'mediasoup-client';
import type { RequestFrame, RtpCapabilities } from '../../../packages/client/src/generated/protocol.ts';
import type { RoomClientOptions } from '../../../packages/client/src/index.ts';
import type { FakeSocket } from './fake-server.ts';
import { joinedRoom } from './room-kit.ts';

/** Answers all media requests like a server and records publications. */
export function mediaServer(published: RequestFrame['data'][]) {
  let count = 0;
  return (socket: FakeSocket) => {
    const number = () => {
      count += 1;
      return String(count);
    };
    socket
      .automatically('createTransport', () => ({ ...testFakeParameters.generateTransportRemoteParameters(), id: `transport-${number()}` }))
      .automatically('publish', ({ data }) => {
        published.push(data);
        return { trackId: `track-${number()}` };
      });
    for (const method of [
      'connectTransport',
      'join',
      'pauseTrack',
      'resumeTrack',
      'unpublish',
      'setTrackMetadata',
      'tracksReady',
    ] as const) {
      socket.automatically(method);
    }
  };
}

export const rtpCapabilities = testFakeParameters.generateRouterRtpCapabilities() as RtpCapabilities;
export const withMedia = (): Partial<RoomClientOptions> => {
  const parameters = {
    generateNativeRtpCapabilities: testFakeParameters.generateNativeRtpCapabilities,
    generateLocalDtlsParameters: testFakeParameters.generateLocalDtlsParameters,
  };
  const handlers = FakeHandler.createFactory(parameters) as types.HandlerFactory;
  return { handlerFactory: { ...handlers, factory: (options) => connecting(handlers.factory(options)) } };
};

/** A transport connects as soon as it is used. */
function connecting(handler: types.HandlerInterface): types.HandlerInterface {
  handler.on('@connect', () => queueMicrotask(() => handler.emit('@connectionstatechange', 'connected')));
  return handler;
}

export async function joinedWithMedia(t: TestContext, options: Partial<RoomClientOptions> = {}) {
  const published: RequestFrame['data'][] = [];
  return { published, ...(await joinedRoom(t, { ...withMedia(), ...options }, { rtpCapabilities }, mediaServer(published))) };
}
