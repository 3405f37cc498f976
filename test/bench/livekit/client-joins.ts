// Joins of LiveKit's unmodified client in Chromium: the same client joins both servers.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { signAccessToken } from '../../kit/access-tokens.ts';
import { startBrowser } from '../../kit/browser/browser.ts';
import { makeBundle } from '../../kit/browser/plain-page.ts';
import { eventually } from '../../kit/eventually.ts';
import { benchContext } from '../bench-context.ts';
import { readCpuTime } from '../machine.ts';
import { tickMs, usedCpuOfTree } from '../processes.ts';
import { quantile } from '../statistics.ts';
import type { Sample } from './cases.ts';
import { address, type RunningServer } from './servers.ts';

/** Joins before those that count: the server and the page still compile code. */
const warmUpJoins = 3;
const readyTimeoutMs = 60_000;
/** A secure context, which Playwright serves. */
const origin = 'http://localhost';

type Join = { connected: number; firstFrame: number };

/** `wrap`: returns a program that runs another one at the server. */
export async function measureJoins(
  { pid, key }: RunningServer,
  count: number,
  wrap: (program: string) => Promise<string>,
): Promise<Sample> {
  const { t, end } = benchContext();
  try {
    const browser = await startBrowser(t, { wrap });
    const script = await makeBundle('livekit-page.ts');
    const pages: Page[] = [];
    for (let index = 0; index < 2; index += 1) {
      const page = await browser.newPage(undefined, { permissions: ['local-network-access'] });
      await page.route(`${origin}/**`, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
      await page.goto(origin);
      await page.addScriptTag({ content: script, type: 'module' });
      pages.push(page);
    }
    const [publisher, receiver] = pages as [Page, Page];
    const token = (identity: string) =>
      signAccessToken({ identity, room: 'join', video: { roomCreate: true }, keyId: key.id, key: new TextEncoder().encode(key.secret) });
    await publish(publisher, await token('publisher'));
    const joins: Join[] = [];
    let before = machineState(pid);
    for (let index = 0; index < warmUpJoins + count; index += 1) {
      if (index === warmUpJoins) before = machineState(pid);
      const join = await joinOnce(receiver, await token(`receiver-${index}`));
      if (index >= warmUpJoins) joins.push(join);
      // Independent of the phase of the publisher's key frames, and of the rate at which servers request them.
      await sleep(1_000 + Math.random() * 1_000);
    }
    return { ...use(before, machineState(pid)), joins: joins.length, ...times(joins) };
  } finally {
    await end();
  }
}

async function publish(page: Page, token: string): Promise<void> {
  // The server may still start.
  await eventually('the publisher connects', () => page.evaluate(connectPublisher, [`ws://${address}`, token] as const), {
    within: readyTimeoutMs,
    every: 500,
  });
  await page.evaluate(async () => {
    const local = livekit.rooms.main?.room.localParticipant;
    await local?.publishTrack(kit.pattern('rgb(200, 30, 30)'), { source: livekit.Track.Source.Camera });
    await local?.publishTrack(kit.tone(440), { source: livekit.Track.Source.Microphone, dtx: false });
  });
}

async function connectPublisher([url, token]: readonly [string, string]): Promise<boolean> {
  livekit.rooms.main = new livekit.LiveKitRoom();
  return livekit.rooms.main.room.connect(url, token).then(
    () => true,
    () => false,
  );
}

/** Times since connect() is called: its result, and the first frame that is shown. */
function joinOnce(page: Page, token: string): Promise<Join> {
  return page.evaluate(
    async ([url, signed]) => {
      const { room } = new livekit.LiveKitRoom();
      const shown = Promise.withResolvers<number>();
      const timer = setTimeout(() => shown.reject(new Error('no frame within 15 s')), 15_000);
      const began = performance.now();
      room.on('trackSubscribed', (track) => {
        const [video] = track.attachedElements;
        if (video instanceof HTMLVideoElement) video.requestVideoFrameCallback(() => shown.resolve(performance.now() - began));
      });
      try {
        await room.connect(url, signed);
        const connected = performance.now() - began;
        return { connected, firstFrame: await shown.promise };
      } finally {
        clearTimeout(timer);
        await room.disconnect();
      }
    },
    [`ws://${address}`, token] as const,
  );
}

function times(joins: readonly Join[]): Sample {
  const of = (name: keyof Join, share: number) =>
    quantile(
      joins.map((join) => join[name]),
      share,
    );
  return {
    first_frame_p50_ms: of('firstFrame', 0.5),
    first_frame_p95_ms: of('firstFrame', 0.95),
    connected_p50_ms: of('connected', 0.5),
  };
}

/** In milliseconds of CPU time: of the server, of this process with all that it started, and of the machine. */
type MachineState = { at: number; server: number; own: number; busy: number; stolen: number };

function machineState(server: number): MachineState {
  const { busy, stolen } = readCpuTime();
  const [all, lost] = [(busy - stolen) * tickMs, stolen * tickMs];
  return { at: performance.now(), server: usedCpuOfTree(server), own: usedCpuOfTree(process.pid), busy: all, stolen: lost };
}

function use(before: MachineState, after: MachineState): Sample {
  const cores = (name: Exclude<keyof MachineState, 'at'>) => (after[name] - before[name]) / (after.at - before.at);
  return { server_cpu: cores('server'), other_cpu: Math.max(0, cores('busy') - cores('own')), stolen_cpu: cores('stolen') };
}
