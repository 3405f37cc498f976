// Join benchmark: time from join(), or from the admission of a waiting peer, to the first RTP packet and to the first decoded frame, in
// Chromium on loopback.
import { setTimeout as sleep } from 'node:timers/promises';
import { enter, startClientFixture } from '../browser/client-kit.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { benchContext } from './bench-context.ts';
import type { Report } from './report.ts';
import { quantile } from './statistics.ts';

const newcomers = 30;
type Times = { audioPacket: number; videoPacket: number; frame: number };
/** The quantile of a time. */
type TimesAt = (name: keyof Times, share: number) => number;
/** Exposed to the page: admits its peer over REST. */
declare const admit: (peerId: string) => Promise<void>;

export async function benchJoin(report: Report): Promise<void> {
  const { t, end } = benchContext();
  try {
    const fixture = await startClientFixture(t);
    const api = apiClient(fixture.node.url, fixture.node.token);
    const sender = await enter(fixture, 'sender');
    await sender.publish({ colour: 'rgb(30 30 200)', tone: 440, width: 640, height: 360 });
    const page = await fixture.browser.newPage(fixture.pageUrl);
    await page.exposeFunction('admit', async (peerId: string) => {
      await api.post(`/room/${fixture.roomId}/peer/${peerId}/admit`);
    });
    const measure = async (): Promise<TimesAt> => {
      const all: Times[] = [];
      for (let count = 0; count < newcomers; count += 1) {
        const { body } = await api.post(`/room/${fixture.roomId}/peer`, { type: 'webrtc' });
        all.push(await page.evaluate(measureJoin, { token: body.data.token, url: fixture.node.peerSocketUrl }));
        // Browsers send at most one key frame per 300 ms: newcomers within that time share one, or wait for the next.
        await sleep(500);
      }
      // The first joins include compilation of code and are not counted.
      const warm = all.slice(5);
      return (name, share) =>
        quantile(
          warm.map((each) => each[name]),
          share,
        );
    };
    const joined = await measure();
    report.print('Joining a room in Chromium, time since join()', [
      { what: 'first audio packet, median', value: joined('audioPacket', 0.5), unit: 'ms', goal: '60 ms' },
      { what: 'first video packet, median', value: joined('videoPacket', 0.5), unit: 'ms', goal: '60 ms' },
      { what: 'first decoded frame, median', value: joined('frame', 0.5), unit: 'ms', goal: '150 ms' },
      { what: 'first decoded frame, p95', value: joined('frame', 0.95), unit: 'ms' },
    ]);
    await api.patch(`/room/${fixture.roomId}`, { admission: 'manual' });
    const admitted = await measure();
    report.print('Admission to a room in Chromium, time since the request to admit', [
      { what: 'first decoded frame after admission, median', value: admitted('frame', 0.5), unit: 'ms', goal: '300 ms' },
      { what: 'first decoded frame after admission, p95', value: admitted('frame', 0.95), unit: 'ms', goal: '300 ms' },
    ]);
  } finally {
    await end();
  }
}

/** Runs in the page. A received track is muted until its first packet arrives. */
async function measureJoin({ token, url }: { token: string; url: string }): Promise<Times> {
  const room = new kit.RoomClient({ url, token, fallbackUrls: [] });
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
