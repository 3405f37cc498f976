// Join benchmark: time from join(), or from the admission of a waiting peer, to the first RTP packet and to the first decoded frame, in
// Chromium on loopback, and joins without media. Joins with peer tokens, which a backend requests over REST, alternate with joins with
// access tokens, which it signs.
import { setTimeout as sleep } from 'node:timers/promises';
import { peerSocketPath } from '../../api/peer.ts';
import { enter, startClientFixture } from '../browser/client-kit.ts';
import { accessKeysText, signAccessToken } from '../kit/access-tokens.ts';
import { type ApiClient, apiClient } from '../kit/answers/api-client.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { benchContext } from './bench-context.ts';
import { benchToken, moveToOtherCore, startPinnedNode } from './processes.ts';
import type { Report, Row } from './report.ts';
import { quantile } from './statistics.ts';

/** With each kind of token. */
const newcomers = 30;
const joins = 1_000;
const roomSize = 10;
const clients = 16;
const kinds = ['peer token', 'access token'] as const;
type Kind = (typeof kinds)[number];
/** Exposed to the page: admits its peer over REST. */
declare const admit: (peerId: string) => Promise<void>;
type Times = { audioPacket: number; videoPacket: number; frame: number };

export async function benchJoin(report: Report): Promise<void> {
  report.print('Joining a room in Chromium, time since join()', await benchMedia());
  report.print(`${joins} joins over the websocket, ${clients} at a time`, await benchSockets());
}

async function benchMedia(): Promise<Row[]> {
  const { t, end } = benchContext();
  try {
    const fixture = await startClientFixture(t, { SVC_ACCESS_KEYS: accessKeysText });
    const api = apiClient(fixture.node.url, fixture.node.token);
    const sender = await enter(fixture, 'sender');
    await sender.publish({ colour: 'rgb(30 30 200)', tone: 440, width: 640, height: 360 });
    const page = await fixture.browser.newPage(fixture.pageUrl);
    await page.exposeFunction('admit', async (peerId: string) => {
      await api.post(`/room/${fixture.roomId}/peer/${peerId}/admit`);
    });
    const all: Record<Kind | 'admission', Times[]> = { 'peer token': [], 'access token': [], admission: [] };
    const join = async (kind: Kind, count: number) => {
      const credentials = await credentialsOf(kind, api, fixture.roomId, `newcomer-${count}`);
      const times = await page.evaluate(measureJoin, { ...credentials, url: fixture.node.peerSocketUrl });
      // Browsers send at most one key frame per 300 ms: newcomers within that time share one, or wait for the next.
      await sleep(500);
      return times;
    };
    for (let count = 0; count < newcomers; count += 1) for (const kind of kinds) all[kind].push(await join(kind, count));
    await api.patch(`/room/${fixture.roomId}`, { admission: 'manual' });
    for (let count = 0; count < newcomers; count += 1) all.admission.push(await join('peer token', count));
    const of = (kind: keyof typeof all, name: keyof Times, share: number) => {
      // The first joins include compilation of code and are not counted.
      const warm = all[kind].slice(5);
      return quantile(
        warm.map((each) => each[name]),
        share,
      );
    };
    const signed = (what: string, name: keyof Times) => ({
      what: `${what} with an access token, median`,
      value: of('access token', name, 0.5),
      unit: 'ms',
      baseline: { what: 'a peer token', value: of('peer token', name, 0.5) },
    });
    return [
      { what: 'first audio packet, median', value: of('peer token', 'audioPacket', 0.5), unit: 'ms', goal: '60 ms' },
      { what: 'first video packet, median', value: of('peer token', 'videoPacket', 0.5), unit: 'ms', goal: '60 ms' },
      { what: 'first decoded frame, median', value: of('peer token', 'frame', 0.5), unit: 'ms', goal: '150 ms' },
      { what: 'first decoded frame, p95', value: of('peer token', 'frame', 0.95), unit: 'ms' },
      signed('first audio packet', 'audioPacket'),
      signed('first video packet', 'videoPacket'),
      { what: 'first decoded frame after admission, median', value: of('admission', 'frame', 0.5), unit: 'ms', goal: '300 ms' },
      { what: 'first decoded frame after admission, p95', value: of('admission', 'frame', 0.95), unit: 'ms', goal: '300 ms' },
    ];
  } finally {
    await end();
  }
}

type Credentials = { token: string } | { accessToken: string };

/** Of a peer that this creates over REST, or that the access token creates. */
async function credentialsOf(kind: Kind, api: ApiClient, room: string, identity: string): Promise<Credentials> {
  if (kind === 'access token') return { accessToken: await signAccessToken({ room, identity, video: { roomCreate: true } }) };
  const { status, body } = await api.post(`/room/${room}/peer`, { type: 'webrtc' });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { token: body.data.token };
}

/** From the request for a token, or its signature, to the response to authenticate. Rooms are created by the first of their peers. */
async function benchSockets(): Promise<Row[]> {
  moveToOtherCore();
  const measured: Partial<Record<Kind, { rate: number; p99: number }>> = {};
  for (const kind of kinds) {
    const node = await startPinnedNode({ SVC_ACCESS_KEYS: accessKeysText });
    try {
      measured[kind] = await joinAll(kind, node.url);
    } finally {
      await node.stop();
    }
  }
  const [ours, baseline] = [measured['access token'], measured['peer token']];
  if (!ours || !baseline) return [];
  const what = 'a peer token, requested over REST';
  return [
    { what: 'access token, rate', value: ours.rate, unit: '/s', baseline: { what, value: baseline.rate } },
    { what: 'access token, p99', value: ours.p99, unit: 'ms', baseline: { what, value: baseline.p99 } },
  ];
}

async function joinAll(kind: Kind, url: string): Promise<{ rate: number; p99: number }> {
  const api = apiClient(url, benchToken);
  const rooms = new Map<string, Promise<unknown>>();
  const opened = (roomId: string) => {
    const room = rooms.get(roomId) ?? api.post('/room', { roomId, peerlessPurgeTimeout: 300 });
    rooms.set(roomId, room);
    return room;
  };
  const times: number[] = [];
  let next = 0;
  const client = async () => {
    for (let index = next++; index < joins; index = next++) {
      const start = performance.now();
      const room = `room-${Math.floor(index / roomSize)}`;
      if (kind === 'peer token') await opened(room);
      const credentials = await credentialsOf(kind, api, room, `peer-${index}`);
      const socket = await PeerSocket.open(`${url.replace('http', 'ws')}${peerSocketPath}`);
      const { error } = await socket.request('authenticate', credentials);
      if (error) throw new Error(error.message);
      times.push(performance.now() - start);
      await socket.cut();
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  return { rate: joins / ((performance.now() - start) / 1_000), p99: quantile(times, 0.99) };
}

/** Runs in the page. A received track is muted until its first packet arrives. */
async function measureJoin(options: { url: string } & ({ token: string } | { accessToken: string })): Promise<Times> {
  const room = new kit.RoomClient({ ...options, fallbackUrls: [] });
  let start = performance.now();
  room.on('waiting', () => {
    // Meanwhile the client prepares its media.
    setTimeout(() => {
      start = performance.now();
      void admit(room.peerId);
    }, 300);
  });
  const since = () => performance.now() - start;
  const unmuted = (track: MediaStreamTrack) =>
    new Promise<number>((resolve) =>
      track.muted ? track.addEventListener('unmute', () => resolve(since()), { once: true }) : resolve(since()),
    );
  const times: Partial<Times> = {};
  const done = new Promise<Times>((resolve) => {
    const settle = (change: Partial<Times>) => {
      Object.assign(times, change);
      if (times.audioPacket !== undefined && times.videoPacket !== undefined && times.frame !== undefined) resolve(times as Times);
    };
    room.on('trackSubscribed', ({ track, kind }) => {
      void unmuted(track).then((time) => settle(kind === 'audio' ? { audioPacket: time } : { videoPacket: time }));
      if (kind === 'audio') return;
      const video = document.createElement('video');
      video.muted = true;
      video.srcObject = new MediaStream([track]);
      video.requestVideoFrameCallback(() => settle({ frame: since() }));
      void video.play();
    });
  });
  await room.join();
  const result = await done;
  await room.leave();
  return result;
}
