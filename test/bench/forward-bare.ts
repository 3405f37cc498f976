// Forwarding baseline: a bare mediasoup worker, controlled over HTTP.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createWorker } from 'mediasoup';
import type { Consumer, DtlsParameters, Producer, RtpCapabilities, RtpParameters, WebRtcTransport } from 'mediasoup/types';
import { roomCodecs } from '../../node/media/codecs.ts';

const ip = '127.0.0.1';
const worker = await createWorker();
const webRtcServer = await worker.createWebRtcServer({
  listenInfos: [
    { protocol: 'udp', ip },
    { protocol: 'tcp', ip },
  ],
});
const router = await worker.createRouter({ mediaCodecs: roomCodecs(null) });
const transports = new Map<string, WebRtcTransport>();
const producers: Producer[] = [];
const consumers: Consumer[] = [];

type Asked = { transportId: string; dtlsParameters: DtlsParameters; rtpParameters: RtpParameters; rtpCapabilities: RtpCapabilities };
const methods: Record<string, (asked: Asked & { kind: 'audio' | 'video' }) => unknown> = {
  capabilities: () => router.rtpCapabilities,
  transport: async () => {
    // The same initial estimate as in our node, because it determines the probing packets.
    const transport = await router.createWebRtcTransport({ webRtcServer, enableTcp: true, initialAvailableOutgoingBitrate: 1_000_000 });
    transports.set(transport.id, transport);
    const { id, iceParameters, iceCandidates, dtlsParameters } = transport;
    return { id, iceParameters, iceCandidates, dtlsParameters };
  },
  connect: ({ transportId, dtlsParameters }) => transports.get(transportId)?.connect({ dtlsParameters }),
  produce: async ({ transportId, kind, rtpParameters }) => {
    const producer = await transports.get(transportId)?.produce({ kind, rtpParameters });
    if (producer) producers.push(producer);
    return { id: producer?.id };
  },
  consume: async ({ transportId, rtpCapabilities }) => {
    const made = producers.map(({ id }) => transports.get(transportId)?.consume({ producerId: id, rtpCapabilities, paused: true }));
    const mine = (await Promise.all(made)).filter((consumer) => consumer !== undefined);
    consumers.push(...mine);
    return mine.map(({ id, producerId, kind, rtpParameters }) => ({ id, producerId, kind, rtpParameters }));
  },
  resume: () => Promise.all(consumers.map((consumer) => consumer.resume())),
  stats: async () => (await Promise.all(consumers.map((consumer) => consumer.getStats()))).flat(),
};

const server = createServer(async (request, response) => {
  const answer = await methods[request.url?.slice(1) ?? '']?.(JSON.parse(await text(request)));
  response.writeHead(200, { 'access-control-allow-origin': '*' }).end(JSON.stringify(answer ?? {}));
});
server.listen(0, ip, () => process.stdout.write(`"url":"http://${ip}:${(server.address() as AddressInfo).port}"\n`));
process.once('SIGTERM', () => {
  worker.close();
  process.exit();
});
