// Runner of an hls component: supervises its composer process, and ends the stream if the process crashes too often.
import { Timer } from '../../common/timer.ts';
import type { ComponentHost, ComponentRunner, EgressTrack, SubscribableTrack } from '../../rooms/interfaces.ts';
import { memoryLimit } from '../process/memory-watch.ts';
import { type ProcessCallbacks, ProcessSupervisor } from '../process/process-supervisor.ts';
import { TrackProcess } from '../process/track-process.ts';
import { type ComposedEncoding, type ComposerReport, type ComposerStart, composedEncodings } from './composer/composer-messages.ts';
import { type ComposerCommand, composerReportSchema } from './hls-process.ts';
import type { HlsStreams, RunningStream } from './hls-streams.ts';
import { bitratesOf, type HlsOptions, segmentTimings } from './options.ts';
import { ProgrammeOutput } from './programme-output.ts';

export type HlsRunnerOptions = {
  host: ComponentHost;
  streams: Pick<HlsStreams, 'begin'>;
  options: HlsOptions;
  /** True if the room forwards H.264. */
  forwardsH264: boolean;
  /** Path of an entry that replaces that of component processes, for tests. */
  module?: string;
};

/** Maximum of tracks that are composed at once. */
const limits = { audio: 256, video: 64 } as const;
/** Memory limit of a composer in bytes, and the part of it that a composer needs without incoming video. */
const maxMemory = 1024 * 1024 * 1024;
const memoryWithoutInput = 256 * 1024 * 1024;
/** Bytes of memory for each incoming pixel: about ten reference frames of the decoder. */
const bytesPerPixel = 18;
/** Maximum of characters of a drawn name. */
const maxNameLength = 64;
/** Milliseconds between two log lines about dropped frames. */
const tellInterval = 10_000;

/** Maximum of pixels of one frame of each track, summed over all tracks. */
function maxPixels(memory: number): number {
  return Math.max(1920 * 1080, Math.floor((memory - memoryWithoutInput) / bytesPerPixel));
}

export type HlsRunner = Required<Pick<ComponentRunner, 'start' | 'receive' | 'addCaption' | 'close' | 'busy' | 'sendProgramme'>>;

export function createHlsRunner(options: HlsRunnerOptions): HlsRunner {
  const { host, streams } = options;
  let running: RunningStream | undefined;
  /** Tracks whose refusal has been reported. */
  const refused = new Set<string>();
  let sendsProgramme = false;
  const context = { refused, sendsProgramme: () => sendsProgramme };
  const kept = new ProcessSupervisor<ComposerProcess, RunningStream>({
    host,
    name: 'composer',
    facts: ({ id: recording }) => ({ recording }),
    begin: async () => {
      running = await streams.begin({ host, options: options.options });
      return running;
    },
    make: (stream, callbacks, careful) => new ComposerProcess(options, stream, callbacks, { ...context, careful }),
    onCrashed: ({ stream }) => stream.interrupted(),
    onClosed: ({ finish }) => finish(),
    busy: ({ stream }) => stream.watched,
    limits,
  });
  return {
    start: () => kept.start(),
    receive: (tracks) => kept.receive(tracks),
    addCaption: (caption) => running?.stream.addCaption(caption, Date.now()),
    close: () => kept.close(),
    get busy() {
      return kept.busy;
    },
    sendProgramme: (wanted) => {
      sendsProgramme = wanted;
      kept.current?.programmeWanted();
    },
  };
}

type ComposedTrack = SubscribableTrack & { encoding: ComposedEncoding };
type ComposerContext = { careful: boolean; refused: Set<string>; sendsProgramme: () => boolean };

/** A composer process and the stream that it writes. */
class ComposerProcess extends TrackProcess<ComposerCommand, ComposerReport, ComposedTrack> {
  readonly #host: ComponentHost;
  readonly #running: RunningStream;
  readonly #init: string;
  readonly #callbacks: ProcessCallbacks;
  readonly #context: ComposerContext;
  readonly #forwardsH264: boolean;
  #profile = '';
  #programme: ProgrammeOutput | undefined;
  #entries = 0;
  #skipped = 0;
  #telling: Timer | undefined;

  constructor(
    { host, options, forwardsH264, module }: HlsRunnerOptions,
    running: RunningStream,
    callbacks: ProcessCallbacks,
    context: ComposerContext,
  ) {
    const { stream } = running;
    const next = stream.next();
    super({
      host,
      name: 'composer',
      process: { role: 'compose', module, writes: [stream.folder], maxMemory, reportSchema: composerReportSchema },
      begin: { type: 'start', folder: stream.folder, ...next, ...startOf(options), careful: context.careful },
      takes: (track): track is ComposedTrack => this.#takes(track),
      add: (track, rtp) => this.#add(track, rtp),
      onReport: (report) => this.#handle(report),
      onEnded: () => {
        this.#telling?.stop();
        this.#programme?.close();
      },
      onCrashed: callbacks.onCrashed,
    });
    this.#host = host;
    this.#running = running;
    this.#init = next.init;
    this.#callbacks = callbacks;
    this.#context = context;
    this.#forwardsH264 = forwardsH264;
  }

  override async start(): Promise<void> {
    await super.start();
    this.#programme = new ProgrammeOutput({
      host: this.#host,
      port: await this.port,
      profile: this.#forwardsH264 ? this.#profile : undefined,
      send: (to) => this.send({ type: 'programme', to }),
    });
    this.programmeWanted();
  }

  /** The programme is wanted, or no longer. */
  programmeWanted(): void {
    this.#programme?.want(this.#context.sendsProgramme());
  }

  #takes({ id: trackId, encoding }: SubscribableTrack): boolean {
    if (isComposed(encoding)) return true;
    this.#host.log.warn({ track: trackId, encoding }, 'could not compose track');
    return false;
  }

  /** @returns the number that identifies the track */
  #add(track: ComposedTrack, { ssrc, clockRate, channels }: EgressTrack): number {
    const { encoding, origin } = track;
    this.#entries += 1;
    const entry = this.#entries;
    const source = 'peerId' in origin ? origin.peerId : origin.componentId;
    this.send({ type: 'add', entry, ssrc, encoding, clockRate, channels, source, name: this.#nameOf(track) });
    return entry;
  }

  #nameOf({ origin }: SubscribableTrack): string | null {
    const name = 'peerId' in origin ? this.#host.nameOf(origin.peerId) : null;
    return name === null ? null : name.slice(0, maxNameLength);
  }

  #handle(report: ComposerReport): void {
    const { stream } = this.#running;
    if (report.type === 'part') stream.add(report);
    else if (report.type === 'ready') this.#ready(report.codecs);
    else if (report.type === 'failed') this.#failed(report.reason);
    else if (report.type === 'overloaded') this.#tellSkipped(report.skipped);
    else {
      for (const trackId of this.named([report.entry])) {
        if (report.type === 'refused') this.#refuse(trackId);
        else this.#callbacks.onTrackBroken(trackId, `Could not compose track: ${report.reason}`);
      }
    }
  }

  #ready(codecs: string): void {
    this.#running.stream.begin(this.#init, codecs);
    this.#profile = /^avc1\.([0-9a-f]{6})/.exec(codecs)?.[1] ?? '';
  }

  #failed(reason: string): void {
    const problem = `Could not create the stream: ${reason}`;
    this.fail(problem);
    this.#host.log.error({ recording: this.#running.id, reason }, 'could not create HLS stream');
    this.#callbacks.onFailed(problem);
  }

  /** The track is temporarily not shown. */
  #refuse(trackId: string): void {
    const { refused } = this.#context;
    if (refused.has(trackId)) return;
    refused.add(trackId);
    this.#host.trackDropped(trackId, 'The frames of all tracks exceed the memory of the composer; the track is temporarily not shown');
  }

  #tellSkipped(skipped: number): void {
    this.#skipped += skipped;
    this.#telling ??= new Timer(tellInterval, () => {
      this.#host.log.warn({ skipped: this.#skipped }, 'composer dropped frames');
      this.#skipped = 0;
      this.#telling = undefined;
    });
  }
}

function startOf(options: HlsOptions): Omit<ComposerStart, 'type' | 'folder' | 'init' | 'firstSegment' | 'careful'> {
  const { width, height, framerate, layout, names } = options;
  const { video, audio } = bitratesOf(options);
  const { times, partDuration } = segmentTimings(options);
  return {
    ...{ width, height, framerate, layout, names, partDuration },
    videoBitrate: video,
    audioBitrate: audio,
    segmentDuration: times.target,
    maxPixels: maxPixels(memoryLimit(maxMemory)),
  };
}

function isComposed(encoding: string): encoding is ComposedEncoding {
  return (composedEncodings as readonly string[]).includes(encoding);
}
