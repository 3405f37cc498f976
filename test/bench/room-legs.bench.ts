// Benchmark of rooms on several media workers: CPU per forwarded packet with one and two workers, the cost of a piped packet, and a room of
// 500 receivers. Node and workers have one core and the load generator the other, so the rate of two cores is derived from CPU time.
import { ensureLoad } from '../../tools/livekit/build.mjs';
import { inTurn, measureNode } from './node-load.ts';
import { moveToOtherCore } from './processes.ts';
import type { BenchOptions, Report, Row } from './report.ts';

const receivers = 50;
/** Near what one core forwards: a piped packet weighs as little as in a room that needs two workers. */
const crowded = 150;
const audience = 500;
const rounds = 3;
/** Tracks of a publisher: a camera and a microphone. */
const tracks = 2;

type Cost = { server_us_per_packet: number; in_pps: number; out_pps: number; lost: number; expected: number; delay_p99_ms: number };
type Crowd = { joins_per_second: number; idle_mib: number; loaded_mib: number; silent: number; lost: number; expected: number };

/** `bounded`: one worker that could hand over receivers. */
const sides = ['one', 'bounded', 'two'] as const;
type Side = (typeof sides)[number];

export async function benchRoomLegs(report: Report, { quick }: BenchOptions): Promise<void> {
  moveToOtherCore();
  const load = await ensureLoad();
  const pace = quick ? ['-warm-up', '1s', '-duration', '2s'] : [];
  const measure = (side: Side, count: number) =>
    measureNode<Cost>(load, ['media', '-receivers', String(count), ...pace], envOf(side, count));
  const [count, most] = quick ? [4, 6] : [receivers, crowded];
  const costs = await inTurn(sides, quick ? 1 : rounds, (side) => measure(side, count));
  const full = await inTurn(['one', 'two'] as const, quick ? 1 : rounds, (side) => measure(side, most));
  report.print(`One publisher with ${count} receivers in a room on one and on two media workers, medians of ${rounds} rounds`, [
    row(costs, 'one worker with a limit of tracks: CPU of the node per forwarded packet', perPacket, 'µs', {
      side: 'bounded',
      goal: '1.01x',
    }),
    row(costs, 'two workers: CPU of the node per forwarded packet', perPacket, 'µs', { side: 'two' }),
    {
      what: `two workers, ${most} receivers: forwarded packets by those of one worker, by CPU time`,
      value: capacity(full),
      unit: '',
      goal: '1.8',
    },
    {
      what: 'two workers: CPU of a piped packet',
      value: pipeCost(costs),
      unit: 'µs',
      baseline: { what: 'a forwarded one', value: costs.one.map(perPacket) },
    },
    row(costs, 'two workers: delay of a packet, p99', ({ delay_p99_ms }) => delay_p99_ms, 'ms', { side: 'two' }),
    row(costs, 'two workers: packets lost', ({ lost }) => lost, '', { side: 'two' }),
  ]);
  const crowd = quick ? 6 : audience;
  const many = ['media', '-microphones', ...pace, '-receivers', String(crowd)];
  const { joins_per_second, idle_mib, loaded_mib, silent, lost, expected } = await measureNode<Crowd>(load, many, {
    ...limit(crowd / 2),
    // The publisher is a peer too.
    SVC_MAX_PEERS_PER_ROOM: String(crowd + 1),
  });
  report.print(`One microphone with ${crowd} receivers in a room on two media workers`, [
    { what: 'joins, one after the other', value: joins_per_second, unit: '/s' },
    { what: 'memory of a receiver', value: ((loaded_mib - idle_mib) * 1024) / crowd, unit: 'KiB' },
    { what: 'receivers without sound after 10 s', value: silent, unit: '' },
    { what: 'share of packets lost', value: (lost / expected) * 100, unit: '%', goal: '0.1 %' },
  ]);
}

function envOf(side: Side, count: number): Record<string, string> {
  if (side === 'one') return {};
  return side === 'two' ? limit((count * tracks) / 2) : { SVC_WORKER_MAX_TRACKS: '10000' };
}

/** Two workers, of which the first forwards so many tracks. */
const limit = (workerTracks: number) => ({ SVC_WEBRTC_WORKERS: '2', SVC_WORKER_MAX_TRACKS: String(workerTracks) });
const perPacket = ({ server_us_per_packet }: Cost) => server_us_per_packet;

function row(
  costs: Record<Side, readonly Cost[]>,
  what: string,
  value: (cost: Cost) => number,
  unit: string,
  { side, goal }: { side: Side; goal?: string },
): Row {
  const baseline = { what: 'one worker', value: costs.one.map(value) };
  return { what, value: costs[side].map(value), unit, baseline, ...(goal !== undefined && { goal }) };
}

function capacity({ one, two }: Record<'one' | 'two', readonly Cost[]>): number[] {
  return two.map((each, round) => (2 * perPacket(one[round] as Cost)) / perPacket(each));
}

/** What two workers need more than one, by the packets that are piped once. */
function pipeCost({ one, two }: Record<Side, readonly Cost[]>): number[] {
  return two.map((each, round) => ((perPacket(each) - perPacket(one[round] as Cost)) * each.out_pps) / each.in_pps);
}
