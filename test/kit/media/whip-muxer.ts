// Encoder program: publishes a file with the whip muxer of FFmpeg in real time. Arguments: file, URL, token. SIGTERM ends the session.
import { Dictionary, FFmpegError, FormatContext, Packet } from 'node-av';
import { at } from '../pace.ts';

const [file = '', url = '', token = ''] = process.argv.slice(2);
/** FFmpeg does not retransmit the last message of its DTLS handshake: if it is lost, only another session helps. */
const attempts = 5;
const handshakeTimeoutMs = 10_000;
const input = new FormatContext();
const packet = new Packet();
let ending = false;

process.once('SIGTERM', () => {
  ending = true;
});
FFmpegError.throwIfError(await input.openInput(file), 'open');
FFmpegError.throwIfError(await input.findStreamInfo(null), 'probe');
const output = await publish(1);
process.stdout.write('publishing\n');
packet.alloc();
const started = performance.now();
let first: number | undefined;
while (!ending && (await input.readFrame(packet)) >= 0) {
  const [from, to] = [input.streams[packet.streamIndex], output.streams[packet.streamIndex]];
  if (!from || !to) continue;
  const time = (Number(packet.dts) * from.timeBase.num * 1000) / from.timeBase.den;
  first ??= time;
  await at(started + time - first);
  packet.rescaleTs(from.timeBase, to.timeBase);
  FFmpegError.throwIfError(await output.interleavedWriteFrame(packet), 'write');
  packet.unref();
}
await output.writeTrailer();
output.freeContext();
await input.closeInput();

async function publish(attempt: number): Promise<FormatContext> {
  const context = new FormatContext();
  FFmpegError.throwIfError(context.allocOutputContext2(null, 'whip', url), 'allocate');
  for (const { codecpar } of input.streams) {
    const stream = context.newStream();
    FFmpegError.throwIfError(codecpar.copy(stream.codecpar), 'copy');
    stream.codecpar.codecTag = 0;
  }
  const options = { authorization: token, handshake_timeout: String(handshakeTimeoutMs) };
  const result = await context.writeHeader(Dictionary.fromObject(options));
  if (result >= 0) return context;
  context.freeContext();
  process.stdout.write(`attempt ${attempt} failed: ${result}\n`);
  if (attempt === attempts) FFmpegError.throwIfError(result, 'publish');
  return publish(attempt + 1);
}
