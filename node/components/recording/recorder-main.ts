// Recorder process: receives RTP of all tracks of a room on one socket and writes one file per track.
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connectToParent } from '../process/child-ipc.ts';
import { diskErrorMessage } from '../process/disk-error.ts';
import { markTrack } from '../process/track-marks.ts';
import { isRtcp, parseRtp, parseSenderReports, pictureLossIndication } from '../rtp/rtp-reader.ts';
import { type RecorderCommand, type RecorderReport, recorderCommandSchema } from './recorder-messages.ts';
import { TrackRecorder } from './track-recorder.ts';

type Recording = { entry: number; ssrc: number; recorder: TrackRecorder };

const loopback = '127.0.0.1';
const tickInterval = 50;
/** Milliseconds between two requests for a key frame of a track. */
const keyInterval = 500;
/** Bytes of the receive buffer that is requested from the kernel, which may grant less. */
const receiveBuffer = 4 * 1024 * 1024;

const ownSsrc = randomInt(1, 2 ** 32);
const entries = new Map<number, Recording>();
const bySsrc = new Map<number, Recording>();
const ending = new Set<Promise<void>>();
let feedbackTo: { ip: string; port: number } | undefined;

const socket = createSocket({ type: 'udp4', recvBufferSize: receiveBuffer });
const { send } = connectToParent<typeof recorderCommandSchema, RecorderReport>(recorderCommandSchema, run);

socket.on('message', (packet) => {
  if (isRtcp(packet)) {
    for (const { ssrc, timestamp, time } of parseSenderReports(packet))
      bySsrc.get(ssrc)?.recorder.reported(timestamp, time, performance.now());
    return;
  }
  const rtp = parseRtp(packet);
  const recording = rtp && bySsrc.get(rtp.ssrc);
  if (recording) work(recording, (recorder) => recorder.push(rtp, performance.now(), Date.now()));
});
socket.on('listening', () => send({ type: 'listening', port: socket.address().port }));
socket.bind(0, loopback);
setInterval(() => {
  for (const recording of entries.values()) work(recording, (recorder) => recorder.tick(performance.now()));
}, tickInterval);

/** An error of a track is reported for that track only; the other tracks continue. */
function work(recording: Recording, step: (recorder: TrackRecorder) => void): void {
  const { entry, recorder } = recording;
  const done = markTrack(entry);
  try {
    step(recorder);
  } catch (error) {
    forget(recording);
    send({ type: 'broken', entry, reason: error instanceof Error ? error.message.slice(0, 200) : 'unknown' });
  }
  done();
}

function run(command: RecorderCommand): void {
  if (command.type === 'connect') feedbackTo = { ip: command.ip, port: command.port };
  else if (command.type === 'add') add(command);
  else if (command.type === 'remove') remove(command.entry);
  else void close();
}

function add({ entry, ssrc, ...track }: Extract<RecorderCommand, { type: 'add' }>): void {
  let asked = Number.NEGATIVE_INFINITY;
  const recorder = new TrackRecorder({
    ...track,
    onKeyNeeded: () => {
      const now = performance.now();
      if (!feedbackTo || now - asked < keyInterval) return;
      asked = now;
      socket.send(pictureLossIndication(ownSsrc, ssrc), feedbackTo.port, feedbackTo.ip);
    },
    onStarted: (facts) => send({ type: 'started', entry, ...facts }),
    onFailed: (error) => send({ type: 'failed', reason: diskErrorMessage(error) }),
  });
  const recording = { entry, ssrc, recorder };
  entries.set(entry, recording);
  bySsrc.set(ssrc, recording);
  send({ type: 'added', entry });
}

function remove(entry: number): void {
  const recording = entries.get(entry);
  if (recording) forget(recording);
}

/** Its file is finished. */
function forget({ entry, ssrc, recorder }: Recording): void {
  if (!entries.delete(entry)) return;
  if (bySsrc.get(ssrc)?.entry === entry) bySsrc.delete(ssrc);
  const ended: Promise<void> = recorder
    .close()
    .then((summary) => send({ type: 'ended', entry, ...summary }))
    // The node finishes this file.
    .catch((error: unknown) => process.stderr.write(`${diskErrorMessage(error)}\n`))
    .then(() => void ending.delete(ended));
  ending.add(ended);
}

async function close(): Promise<void> {
  for (const entry of [...entries.keys()]) remove(entry);
  await Promise.all(ending);
  send({ type: 'closed' });
}
