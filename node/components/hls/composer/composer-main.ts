// Composer process: receives RTP of all tracks of a room on one socket and writes parts of segments to files.
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { AvError } from '../../ffmpeg/ffmpeg.ts';
import { connectToParent } from '../../process/child-ipc.ts';
import { diskErrorMessage } from '../../process/disk-error.ts';
import { findFont } from '../../process/font.ts';
import { markTrack } from '../../process/track-marks.ts';
import { isRtcp, parseRtp, parseSenderReports, pictureLossIndication } from '../../rtp/rtp-reader.ts';
import { Composer } from './composer.ts';
import { type ComposerCommand, type ComposerReport, composerCommandSchema } from './composer-messages.ts';

const loopback = '127.0.0.1';
/** Milliseconds between two requests for a key frame of a track. */
const keyInterval = 500;
/** Bytes of the receive buffer that is requested from the kernel, which may grant less. */
const receiveBuffer = 4 * 1024 * 1024;

const ownSsrc = randomInt(1, 2 ** 32);
const asked = new Map<number, number>();
let feedbackTo: { ip: string; port: number } | undefined;
let composer: Composer | undefined;
let starting: Promise<void> = Promise.resolve();
let hasFailed = false;

const socket = createSocket({ type: 'udp4', recvBufferSize: receiveBuffer });
const { send } = connectToParent<typeof composerCommandSchema, ComposerReport>(composerCommandSchema, run);

socket.on('message', (packet) => {
  if (isRtcp(packet)) {
    for (const { ssrc, timestamp, time } of parseSenderReports(packet)) composer?.reported(ssrc, timestamp, time);
    return;
  }
  const rtp = parseRtp(packet);
  if (rtp) composer?.receive(rtp);
});

function run(command: ComposerCommand): void {
  if (command.type === 'start') starting = start(command);
  else if (command.type === 'connect') feedbackTo = { ip: command.ip, port: command.port };
  // A composer takes some milliseconds to start; commands that arrive meanwhile are queued.
  else starting = starting.then(() => obey(command));
}

async function start(command: Extract<ComposerCommand, { type: 'start' }>): Promise<void> {
  socket.bind(0, loopback, () => send({ type: 'listening', port: socket.address().port }));
  try {
    composer = await Composer.start({
      start: command,
      font: findFont(),
      onKeyNeeded: askForKey,
      onReport: send,
      onFailed: fail,
      onStuck: die,
      mark: markTrack,
    });
  } catch (error) {
    fail(error);
  }
}

async function obey(command: Extract<ComposerCommand, { type: 'add' | 'remove' | 'close' }>): Promise<void> {
  if (command.type === 'add') add(command);
  else if (command.type === 'remove') composer?.remove(command.entry);
  else {
    await composer?.close();
    send({ type: 'closed' });
  }
}

/** No response for a track that this FFmpeg cannot decode, so that no RTP of it is sent. */
function add(command: Extract<ComposerCommand, { type: 'add' }>): void {
  try {
    composer?.add(command);
    send({ type: 'added', entry: command.entry });
  } catch (error) {
    if (!(error instanceof AvError)) throw error;
    process.stderr.write(`${error.message}\n`);
  }
}

function askForKey(ssrc: number): void {
  const now = performance.now();
  if (!feedbackTo || now - (asked.get(ssrc) ?? Number.NEGATIVE_INFINITY) < keyInterval) return;
  // Drops the oldest entry: a track without an entry is only requested again.
  asked.delete(ssrc);
  asked.set(ssrc, now);
  for (const [each, at] of asked) {
    if (now - at < keyInterval) break;
    asked.delete(each);
  }
  socket.send(pictureLossIndication(ownSsrc, ssrc), feedbackTo.port, feedbackTo.ip);
}

/** Reports the first failure only. */
function fail(error: unknown): void {
  if (hasFailed) return;
  hasFailed = true;
  send({ type: 'failed', reason: diskErrorMessage(error) });
}

/** Ends the process with a signal, because an exit would wait for the hanging thread. The supervisor starts another. */
function die(): void {
  process.stderr.write('No frame was produced for 10 s\n');
  process.kill(process.pid, 'SIGKILL');
}
