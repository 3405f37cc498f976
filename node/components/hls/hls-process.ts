// Composer process: receives RTP of all tracks of a room on one socket and writes parts of segments to files.
import { z } from 'zod';
import { connectToParent } from '../process/child-ipc.ts';
import { diskErrorMessage } from '../process/disk-error.ts';
import { findFont } from '../process/font.ts';
import { RtpSocket } from '../process/rtp-socket.ts';
import { markTrack } from '../process/track-marks.ts';
import { trackCommands, trackReports } from '../process/track-messages.ts';
import type { Composer } from './composer/composer.ts';
import {
  type ComposedTrack,
  type ComposerStart,
  composedTrackSchema,
  composerReports,
  composerStartSchema,
  programmeSchema,
} from './composer/composer-messages.ts';

/** `start` is the first command, sent once; answered with `ready` and `listening`. */
const commandSchema = z.discriminatedUnion('type', [...trackCommands, composerStartSchema, composedTrackSchema, programmeSchema]);
export type ComposerCommand = z.infer<typeof commandSchema>;

export const composerReportSchema = z.discriminatedUnion('type', [...trackReports, ...composerReports]);
type Report = z.infer<typeof composerReportSchema>;

/** Runs the process. */
export async function compose(): Promise<void> {
  // The node reads the schemas above without the codec library.
  const [{ Composer }, { AvError }] = await Promise.all([import('./composer/composer.ts'), import('../ffmpeg/ffmpeg.ts')]);
  let composer: Composer | undefined;
  let starting: Promise<void> = Promise.resolve();
  let hasFailed = false;
  const socket = new RtpSocket({
    onRtp: (packet) => composer?.receive(packet),
    onSenderReport: (ssrc, timestamp, time) => composer?.reported(ssrc, timestamp, time),
    onPictureLoss: (ssrc) => composer?.requestKeyFrame(ssrc),
  });
  /** Reports the first failure only. */
  const fail = (error: unknown) => {
    if (!hasFailed) send({ type: 'failed', reason: diskErrorMessage(error) });
    hasFailed = true;
  };
  const start = async (command: ComposerStart) => {
    const port = await socket.listen();
    try {
      composer = await Composer.start({
        start: command,
        font: findFont(),
        onKeyNeeded: (ssrc) => socket.requestKeyFrame(ssrc),
        send: (packet, destination) => socket.send(packet, destination),
        onReport: send,
        onFailed: fail,
        onStuck: die,
        mark: markTrack,
      });
      send({ type: 'listening', port });
    } catch (error) {
      fail(error);
    }
  };
  /** No response for a track that this FFmpeg cannot decode, so that no RTP of it is sent. */
  const add = (track: ComposedTrack) => {
    composer?.add(track);
    send({ type: 'added', entry: track.entry });
  };
  const obey = async (command: Exclude<ComposerCommand, { type: 'start' | 'connect' }>) => {
    if (command.type === 'add') unlessUnsupported(AvError, () => add(command));
    else if (command.type === 'remove') composer?.remove(command.entry);
    else if (command.type === 'programme') unlessUnsupported(AvError, () => composer?.sendProgramme(command.to));
    else {
      await composer?.close();
      send({ type: 'closed' });
    }
  };
  const { send } = connectToParent<typeof commandSchema, Report>(commandSchema, (command) => {
    if (command.type === 'start') starting = start(command);
    else if (command.type === 'connect') socket.connect(command);
    // A composer takes some milliseconds to start; commands that arrive meanwhile are queued.
    else starting = starting.then(() => obey(command));
  });
}

/** Logs an error of this class: what the FFmpeg of this process cannot do. */
function unlessUnsupported(Unsupported: new (...given: never[]) => Error, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    process.stderr.write(`${error.message}\n`);
  }
}

/**
 * Ends the process with a signal, because an exit would wait for the hanging thread. The supervisor starts another, without the track that
 * was in progress; SIGKILL would mean that another process sent it.
 */
function die(): void {
  process.stderr.write('No frame was produced for 10 s\n');
  process.kill(process.pid, 'SIGALRM');
}
