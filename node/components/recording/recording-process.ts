// Recorder process: receives RTP of all tracks of a room on one socket and writes one file per track.
import { z } from 'zod';
import { connectToParent } from '../process/child-ipc.ts';
import { diskErrorMessage } from '../process/disk-error.ts';
import { RtpSocket } from '../process/rtp-socket.ts';
import { markTrack } from '../process/track-marks.ts';
import { entry, failureReports, ssrc, trackCommands, trackReports } from '../process/track-messages.ts';
import { recordedEncodings } from './codecs.ts';
import { TrackRecorder } from './track-recorder.ts';

/** `entry` is the number of a track file. */
const commandSchema = z.discriminatedUnion('type', [
  ...trackCommands,
  z.strictObject({
    type: z.literal('add'),
    entry,
    ssrc,
    encoding: z.enum(recordedEncodings),
    clockRate: z.int().min(1000).max(1_000_000),
    channels: z.int().min(1).max(8),
    path: z.string().max(4096),
  }),
]);
export type RecorderCommand = z.infer<typeof commandSchema>;

/** Times are milliseconds since 1970, durations milliseconds. */
export const recorderReportSchema = z.discriminatedUnion('type', [
  ...trackReports,
  ...failureReports,
  z.strictObject({
    type: z.literal('started'),
    entry,
    startTime: z.number(),
    width: z.int().positive().optional(),
    height: z.int().positive().optional(),
  }),
  z.strictObject({
    type: z.literal('ended'),
    entry,
    startTime: z.number().optional(),
    endTime: z.number().optional(),
    duration: z.number().min(0).optional(),
    frames: z.int().min(0),
    lostPackets: z.int().min(0),
  }),
]);
export type RecorderReport = z.infer<typeof recorderReportSchema>;

type Recording = { entry: number; ssrc: number; recorder: TrackRecorder };

const tickInterval = 50;

/** Runs the process; resolves when it accepts tracks. */
export async function record(): Promise<void> {
  const recorder = new Recorder();
  await recorder.listen();
}

class Recorder {
  readonly #entries = new Map<number, Recording>();
  readonly #bySsrc = new Map<number, Recording>();
  readonly #ending = new Set<Promise<void>>();
  readonly #socket = new RtpSocket({
    onRtp: (packet) => {
      const recording = this.#bySsrc.get(packet.ssrc);
      if (recording) this.#work(recording, (recorder) => recorder.push(packet, performance.now(), Date.now()));
    },
    onSenderReport: (ssrc, timestamp, time) => this.#bySsrc.get(ssrc)?.recorder.reported(timestamp, time, performance.now()),
  });
  readonly #parent = connectToParent<typeof commandSchema, RecorderReport>(commandSchema, (command) => this.#run(command));

  async listen(): Promise<void> {
    setInterval(() => {
      for (const recording of this.#entries.values()) this.#work(recording, (recorder) => recorder.tick(performance.now()));
    }, tickInterval);
    this.#parent.send({ type: 'listening', port: await this.#socket.listen() });
  }

  #run(command: RecorderCommand): void {
    if (command.type === 'connect') this.#socket.connect(command);
    else if (command.type === 'add') this.#add(command);
    else if (command.type === 'remove') this.#remove(command.entry);
    else void this.#close();
  }

  /** An error of a track is reported for that track only; the other tracks continue. */
  #work(recording: Recording, step: (recorder: TrackRecorder) => void): void {
    const { entry, recorder } = recording;
    const done = markTrack(entry);
    try {
      step(recorder);
    } catch (error) {
      this.#forget(recording);
      this.#parent.send({ type: 'broken', entry, reason: error instanceof Error ? error.message.slice(0, 200) : 'unknown' });
    }
    done();
  }

  #add({ entry, ssrc, ...track }: Extract<RecorderCommand, { type: 'add' }>): void {
    const recorder = new TrackRecorder({
      ...track,
      onKeyNeeded: () => this.#socket.requestKeyFrame(ssrc),
      onStarted: (facts) => this.#parent.send({ type: 'started', entry, ...facts }),
      onFailed: (error) => this.#parent.send({ type: 'failed', reason: diskErrorMessage(error) }),
    });
    const recording = { entry, ssrc, recorder };
    this.#entries.set(entry, recording);
    this.#bySsrc.set(ssrc, recording);
    this.#parent.send({ type: 'added', entry });
  }

  #remove(entry: number): void {
    const recording = this.#entries.get(entry);
    if (recording) this.#forget(recording);
  }

  /** Its file is finished. */
  #forget({ entry, ssrc, recorder }: Recording): void {
    if (!this.#entries.delete(entry)) return;
    if (this.#bySsrc.get(ssrc)?.entry === entry) this.#bySsrc.delete(ssrc);
    const ended: Promise<void> = recorder
      .close()
      .then((summary) => this.#parent.send({ type: 'ended', entry, ...summary }))
      // The node finishes this file.
      .catch((error: unknown) => process.stderr.write(`${diskErrorMessage(error)}\n`))
      .then(() => void this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  async #close(): Promise<void> {
    for (const entry of [...this.#entries.keys()]) this.#remove(entry);
    await Promise.all(this.#ending);
    this.#parent.send({ type: 'closed' });
  }
}
