// Event benchmark: throughput to one webhook receiver and to 100 sockets, memory of pending events, recovery time of a spool.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RoomEvent } from '../../api/events.ts';
import { WebhookStore } from '../../node/events/webhooks/store.ts';
import { type WebhookSettings, Webhooks } from '../../node/events/webhooks/webhooks.ts';
import { startReceiver } from '../kit/network/webhook-receiver.ts';
import { liveHeap } from '../kit/processes/resources.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { silentLog } from '../kit/silent-log.ts';
import { benchContext } from './bench-context.ts';
import type { Report, Row } from './report.ts';

const log = silentLog();
const delivered = 20_000;
const waiting = 100_000;
const sockets = 100;
const roomsMade = 1_000;
/** Rooms created and deleted in one turn of the event loop, as by the requests that arrive together. */
const roomsPerTurn = 4;

export async function benchEvents(report: Report): Promise<void> {
  report.print('Events', [...(await benchWebhooks()), ...(await benchSpool()), ...(await benchSockets())]);
}

async function benchWebhooks(): Promise<Row[]> {
  return withEndings(async (t, base) => {
    const receiver = await startReceiver(t);
    const store = await WebhookStore.open({ log, base, name: 'svc@bench' });
    const webhooks = new Webhooks({ log, store, settings: () => settings([receiver.url]), userAgent: 'bench' });
    const start = performance.now();
    // A hundred rooms, because deliveries of one room are sequential.
    for (let index = 0; index < delivered; index += 1) webhooks.publish(eventOf(index, 100), null);
    await receiver.until(delivered);
    const perSecond = delivered / ((performance.now() - start) / 1000);
    await webhooks.close(1_000);
    return [{ what: 'webhooks to one receiver, spooled and signed', value: perSecond, unit: '/s' }];
  });
}

async function benchSpool(): Promise<Row[]> {
  return withEndings(async (_, base) => {
    // Port 9 of loopback has no listener, so all events stay pending.
    const open = () => WebhookStore.open({ log, base, name: 'svc@bench' });
    const down = () => settings(['http://127.0.0.1:9/']);
    const first = new Webhooks({ log, store: await open(), settings: down, userAgent: 'bench' });
    const before = await liveHeap();
    for (let index = 0; index < waiting; index += 1) first.publish(eventOf(index, 1_000), null);
    const perEvent = ((await liveHeap()) - before) / waiting;
    await first.close(0);
    const start = performance.now();
    const second = new Webhooks({ log, store: await open(), settings: down, userAgent: 'bench' });
    const recovery = performance.now() - start;
    const { pending } = second.counters();
    if (pending !== waiting) throw new Error(`${pending} of ${waiting} events were recovered`);
    await second.close(0);
    return [
      { what: 'memory per pending event', value: perEvent, unit: 'bytes' },
      { what: `recovery of a spool with ${waiting} events`, value: recovery / 1000, unit: 's' },
    ];
  });
}

/** The receivers run in another process and only count, so that the node limits the rate. */
async function benchSockets(): Promise<Row[]> {
  return withEndings(async (t) => {
    const node = await startNode(t, {}, log);
    const events = roomsMade * 2;
    const args = [node.serverSocketUrl, node.token, String(sockets), String(events)];
    const receivers = spawn(process.execPath, [join(import.meta.dirname, 'event-receivers.ts'), ...args], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    t.after(() => receivers.kill());
    await once(receivers, 'message');
    const received = once(receivers, 'message');
    const { rooms } = node.node.parts;
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    for (let index = 0; index < roomsMade; index += 1) {
      await rooms.createRoom({ roomId: `r${index}` });
      rooms.room(`r${index}`).close('deleted');
      if (index % roomsPerTurn === 0) await nextTurn();
    }
    await received;
    const { user, system } = process.cpuUsage(cpu);
    return [
      { what: `to ${sockets} sockets, events`, value: events / ((performance.now() - start) / 1000), unit: '/s', goal: '3,000 /s' },
      { what: 'CPU of the node for an event to one socket', value: (user + system) / (events * sockets), unit: 'µs' },
    ];
  });
}

/** Closes at the end of the measurement what the kit would close at the end of a test. */
async function withEndings(measure: (t: TestContext, folder: string) => Promise<Row[]>): Promise<Row[]> {
  const { t, end } = benchContext();
  const folder = await mkdtemp(join(tmpdir(), 'mediarooms-bench-'));
  try {
    return await measure(t, folder);
  } finally {
    await end();
    await rm(folder, { recursive: true, force: true });
  }
}

function settings(urls: readonly string[]): WebhookSettings {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  return { livekitUrls: [], urls, secrets: [secret], maxAge: 3_600_000, allowPrivate: true, pendingMaxBytes: 1024 * 1024 * 1024 };
}

function eventOf(index: number, rooms: number): RoomEvent {
  const room = index % rooms;
  const seq = Math.floor(index / rooms) + 1;
  const incarnation = `01M7YQGSKY057WVHKY4QBGY${String(room).padStart(4, '0')}`;
  return {
    id: `${incarnation}-${seq}`,
    type: 'PeerConnected',
    time: new Date().toISOString(),
    seq,
    node: 'svc@bench',
    incarnation,
    roomId: `r${room}`,
    peerId: 'peer',
  };
}
