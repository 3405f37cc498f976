// Cases of the comparison with LiveKit: what the load generator does in each, and the results that are taken from it.

/** One measurement of one server, as the load generator prints it. */
export type Sample = Readonly<Record<string, number | string>>;

/** Both measurements of one pair. */
export type Pair = Readonly<Record<Side, Sample>>;
export type Side = 'mediarooms' | 'livekit';

export type CaseRow = {
  /** Field of the sample. */
  field: string;
  what: string;
  unit: string;
  /** As text; `0.6x` of LiveKit. */
  goal?: string;
};

export type LivekitCase = {
  name: string;
  title: string;
  /** Command and flags of the load generator. */
  load: readonly string[];
  /** Flags that replace those of `load` in a quick run. */
  quick: readonly string[];
  rows: readonly CaseRow[];
  /** True if the sample is one of the server: something else may have been the limit. */
  isValid?: (sample: Sample) => boolean;
  timeoutMs: number;
};

const quickMedia = ['-warm-up', '1s', '-duration', '2s'];
const minute = 60_000;

function mediaRows(cpuGoal: string): CaseRow[] {
  return [
    { field: 'server_per_generator', what: 'CPU of the server by that of the load', unit: '', goal: cpuGoal },
    { field: 'server_us_per_packet', what: 'CPU of the server per forwarded packet', unit: 'µs' },
    { field: 'delay_p50_ms', what: 'delay of a packet, median', unit: 'ms' },
    { field: 'delay_p99_ms', what: 'delay of a packet, p99', unit: 'ms', goal: '0.9x' },
    { field: 'lost', what: 'packets lost', unit: '' },
  ];
}

/** A camera of 1.5 Mbit/s and a microphone for each publisher. */
export const livekitCases: readonly LivekitCase[] = [
  {
    name: 'one-to-many',
    title: '1 to 50',
    load: ['media', '-publishers', '1', '-receivers', '50'],
    quick: ['-receivers', '3', ...quickMedia],
    rows: [...mediaRows('0.6x'), { field: 'idle_mib', what: 'memory of the idle server before', unit: 'MiB', goal: '1.9x' }],
    timeoutMs: 4 * minute,
  },
  {
    name: 'room',
    title: 'room of 8',
    load: ['media', '-publishers', '8', '-mesh'],
    quick: ['-publishers', '3', ...quickMedia],
    rows: mediaRows('0.5x'),
    timeoutMs: 4 * minute,
  },
  {
    name: 'rooms',
    title: '4 rooms of 4',
    load: ['media', '-rooms', '4', '-publishers', '4', '-mesh'],
    quick: ['-rooms', '2', '-publishers', '2', ...quickMedia],
    rows: mediaRows('0.5x'),
    timeoutMs: 4 * minute,
  },
  {
    name: 'lossy',
    title: '1 to 50, 10 of them lose 2 % of their packets',
    load: ['media', '-publishers', '1', '-receivers', '50', '-lossy-every', '5', '-loss', '0.02'],
    quick: ['-receivers', '4', '-lossy-every', '2', ...quickMedia],
    rows: [
      { field: 'server_per_generator', what: 'CPU of the server by that of the load', unit: '' },
      { field: 'delay_p99_ms', what: 'delay of a packet to the other 40, p99', unit: 'ms' },
      { field: 'lossy_delay_p99_ms', what: 'delay of a packet to the 10, p99', unit: 'ms' },
      { field: 'network_lost', what: 'packets lost by the network', unit: '' },
      { field: 'lossy_lost', what: 'packets that were not sent again within a second', unit: '' },
      { field: 'lost', what: 'packets lost to the other 40', unit: '' },
    ],
    timeoutMs: 4 * minute,
  },
  {
    name: 'capacity',
    title: 'capacity of one core',
    load: ['capacity', '-receivers', '20', '-step', '10', '-duration', '3s'],
    quick: ['-receivers', '2', '-step', '2', '-max-receivers', '4', '-duration', '1s'],
    rows: [
      { field: 'out_pps', what: 'forwarded packets before 0.1 % are lost', unit: '/s', goal: '1.5x' },
      { field: 'receivers', what: 'receivers of one publisher', unit: '' },
    ],
    isValid: ({ limit }) => limit === 'loss' || limit === 'joins',
    timeoutMs: 15 * minute,
  },
  {
    name: 'join',
    title: 'join',
    load: ['join', '-count', '30'],
    quick: ['-count', '2'],
    rows: [
      { field: 'first_rtp_p50_ms', what: 'first RTP packet, median', unit: 'ms', goal: '0.1x' },
      { field: 'first_video_p50_ms', what: 'first video packet, median', unit: 'ms' },
      { field: 'first_video_p95_ms', what: 'first video packet, p95', unit: 'ms', goal: '0.1x' },
      { field: 'setup_p50_ms', what: 'requests of the backend before, median', unit: 'ms' },
    ],
    timeoutMs: 5 * minute,
  },
  {
    name: 'create',
    title: 'create a room, 1 client',
    load: ['rooms', '-count', '2000', '-clients', '1'],
    quick: ['-count', '20'],
    rows: [
      { field: 'per_second', what: 'rate', unit: '/s', goal: '2.2x' },
      { field: 'p99_ms', what: 'p99', unit: 'ms' },
      { field: 'room_kib', what: 'memory of a room', unit: 'KiB' },
    ],
    isValid: ({ failed }) => failed === 0,
    timeoutMs: 2 * minute,
  },
  {
    name: 'create-32',
    title: 'create a room, 32 clients',
    load: ['rooms', '-count', '2000', '-clients', '32'],
    quick: ['-count', '64'],
    rows: [
      { field: 'per_second', what: 'rate', unit: '/s' },
      { field: 'p99_ms', what: 'p99', unit: 'ms', goal: '40 ms' },
    ],
    isValid: ({ failed }) => failed === 0,
    timeoutMs: 2 * minute,
  },
];

/** Cores that other programs, and other virtual machines, may use during a measurement. */
const maxOtherCpu = 0.15;
const maxStolenCpu = 0.03;

/** @returns why a sample does not count; undefined if it does */
export function objectionTo(sample: Sample, { isValid }: LivekitCase): string | undefined {
  const [other, stolen] = [Number(sample.other_cpu), Number(sample.stolen_cpu)];
  if (!(other <= maxOtherCpu)) return `other programs used ${other.toFixed(2)} cores`;
  if (!(stolen <= maxStolenCpu)) return `${stolen.toFixed(2)} cores were stolen`;
  if (isValid && !isValid(sample)) return `the measurement ended with ${sample.limit ?? `${sample.failed} failures`}`;
  return undefined;
}
