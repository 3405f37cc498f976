// Page script of the forwarding benchmark, next to test/kit/browser/client-page.ts: the same load through our client and through mediasoup-client.
import { Device, type types } from 'mediasoup-client';

/** Counters of one subscription on the server; `timestamp` in milliseconds of the worker's clock. */
export type Sent = { packets: number; bytes: number; timestamp: number };

const encodings = [{ maxBitrate: 1_500_000, scalabilityMode: 'L1T1' }];
const videoOptions = { videoGoogleStartBitrate: 1_500 };
const audioOptions = { opusFec: true, opusDtx: true };

/** Noise, so that the encoder uses its full bitrate and both loads are the same. */
function noise(width = 640, height = 360): MediaStreamTrack {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const small = Object.assign(document.createElement('canvas'), { width: 40, height: 24 });
  const from = small.getContext('2d');
  const to = canvas.getContext('2d');
  const image = new ImageData(small.width, small.height);
  setInterval(() => {
    for (let index = 0; index < image.data.length; index += 1) image.data[index] = index % 4 === 3 ? 255 : Math.random() * 256;
    from?.putImageData(image, 0, 0);
    to?.drawImage(small, 0, 0, width, height);
  }, 1_000 / 30);
  return canvas.captureStream(30).getVideoTracks()[0] as MediaStreamTrack;
}

function sentOf(stats: readonly object[]): Sent[] {
  return (stats as { type: string; packetCount: number; byteCount: number; timestamp: number }[])
    .filter(({ type }) => type === 'outbound-rtp')
    .map(({ packetCount, byteCount, timestamp }) => ({ packets: packetCount, bytes: byteCount, timestamp }));
}

const rooms: InstanceType<typeof kit.RoomClient>[] = [];

const ours = {
  async join(url: string, token: string): Promise<void> {
    const room = new kit.RoomClient({ url, token, fallbackUrls: [] });
    rooms.push(room);
    await room.join();
  },
  async publish(): Promise<void> {
    await rooms[0]?.publish(noise(), { simulcast: false, encodings, codecOptions: videoOptions });
    await rooms[0]?.publish(kit.tone(440), { codecOptions: audioOptions });
  },
  async sent(): Promise<Sent[]> {
    const all = await Promise.all(rooms.map((room) => room.getStats()));
    return all.flatMap(({ server }) => sentOf(Object.values(server.subscribed).flat()));
  },
};

async function ask<Answer>(url: string, method: string, data: object = {}): Promise<Answer> {
  const response = await fetch(`${url}/${method}`, { method: 'POST', body: JSON.stringify(data) });
  return (await response.json()) as Answer;
}

async function loadedDevice(url: string): Promise<Device> {
  const device = new Device();
  await device.load({ routerRtpCapabilities: await ask<types.RtpCapabilities>(url, 'capabilities') });
  return device;
}

function connected(url: string, transport: types.Transport): types.Transport {
  transport.on('connect', ({ dtlsParameters }, done, fail) => {
    ask(url, 'connect', { transportId: transport.id, dtlsParameters }).then(done, fail);
  });
  return transport;
}

const bare = {
  async publish(url: string): Promise<void> {
    const device = await loadedDevice(url);
    const transport = connected(url, device.createSendTransport(await ask(url, 'transport')));
    transport.on('produce', ({ kind, rtpParameters }, done, fail) => {
      ask<{ id: string }>(url, 'produce', { transportId: transport.id, kind, rtpParameters }).then(done, fail);
    });
    await transport.produce({ track: noise(), encodings, codecOptions: videoOptions });
    await transport.produce({ track: kit.tone(440), codecOptions: audioOptions });
  },
  async receive(url: string): Promise<void> {
    const device = await loadedDevice(url);
    const transport = connected(url, device.createRecvTransport(await ask(url, 'transport')));
    const { recvRtpCapabilities: rtpCapabilities } = device;
    const offered = await ask<types.ConsumerOptions[]>(url, 'consume', { transportId: transport.id, rtpCapabilities });
    await Promise.all(offered.map((each) => transport.consume(each)));
  },
  async sent(url: string): Promise<Sent[]> {
    return sentOf(await ask<object[]>(url, 'stats'));
  },
};

const forwardPage = { ours, bare, ask };
export type ForwardPage = typeof forwardPage;
declare global {
  var forward: ForwardPage;
}
globalThis.forward = forwardPage;
