// Plain RTP of a component in tests: parameters of its tracks, and UDP sockets.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import type { WireObject } from '../../node/rooms/interfaces.ts';

export const ssrc = 77;
const parametersOf = (mimeType: string, payloadType: number, clockRate: number, rest: object = {}): WireObject => ({
  codecs: [{ mimeType, payloadType, clockRate, parameters: {}, rtcpFeedback: [], ...rest }],
  encodings: [{ ssrc }],
  headerExtensions: [],
  rtcp: { cname: 'test' },
});
export const opus = parametersOf('audio/opus', 108, 48_000, { channels: 2 });
export const vp8 = parametersOf('video/VP8', 96, 90_000, { rtcpFeedback: [{ type: 'nack', parameter: 'pli' }] });

/** RFC 4585, section 6.3.1, as mediasoup sends it: not in a compound packet. */
export const isPictureLoss = (packet: Buffer) => packet[1] === 206 && ((packet[0] ?? 0) & 0x1f) === 1;

export type Udp = { socket: Socket; port: number; received: Buffer[]; address: { ip: string; port: number } };

export async function udp(t: TestContext): Promise<Udp> {
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  const received: Buffer[] = [];
  socket.on('message', (packet) => received.push(packet));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  return { socket, port, received, address: { ip: '127.0.0.1', port } };
}
