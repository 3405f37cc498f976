// Join benchmark: time from join() to the first RTP packet and to the first decoded frame, in Chromium on loopback.
import { setTimeout as sleep } from 'node:timers/promises';
import { enter, startClientFixture } from '../browser/client-kit.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { benchContext } from './bench-context.ts';
import type { Report } from './report.ts';
import { quantile } from './statistics.ts';

const newcomers = 30;
type Times = { audioPacket: number; videoPacket: number; frame: number };

export async function benchJoin(report: Report): Promise<void> {
  const { t, end } = benchContext();
  try {
    const fixture = await startClientFixture(t);
    const api = apiClient(fixture.node.url, fixture.node.token);
    const sender = await enter(fixture, 'sender');
    await sender.publish({ colour: 'rgb(30 30 200)', tone: 440, width: 640, height: 360 });
    const page = await fixture.browser.newPage(fixture.pageUrl);
    const all: Times[] = [];
    for (let count = 0; count < newcomers; count += 1) {
      const { body } = await api.post(`/room/${fixture.roomId}/peer`, { type: 'webrtc' });
      all.push(await page.evaluate(measureJoin, { token: body.data.token, url: fixture.node.peerSocketUrl }));
      // Browsers send at most one key frame per 300 ms: newcomers within that time share one, or wait for the next.
      await sleep(500);
    }
    // The first joins include compilation of code and are not counted.
    const warm = all.slice(5);
    const of = (name: keyof Times, share: number) =>
      quantile(
        warm.map((each) => each[name]),
        share,
      );
    report.print('Joining a room in Chromium, time since join()', [
      { what: 'first audio packet, median', value: of('audioPacket', 0.5), unit: 'ms', goal: '60 ms' },
      { what: 'first video packet, median', value: of('videoPacket', 0.5), unit: 'ms', goal: '60 ms' },
      { what: 'first decoded frame, median', value: of('frame', 0.5), unit: 'ms', goal: '150 ms' },
      { what: 'first decoded frame, p95', value: of('frame', 0.95), unit: 'ms' },
    ]);
  } finally {
    await end();
  }
}

/** Runs in the page. A received track is muted until its first packet arrives. */
async function measureJoin({ token, url }: { token: string; url: string }): Promise<Times> {
  const room = new kit.RoomClient({ url, token, fallbackUrls: [] });
  const start = performance.now();
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
