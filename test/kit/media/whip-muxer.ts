// Encoder program: publishes a file with the whip muxer of FFmpeg in real time. Arguments: file, URL, token. SIGTERM ends the session.
import { Dictionary, FFmpegError, FormatContext, Packet } from 'node-av';
import { at } from '../pace.ts';

const [file = '', url = '', token = ''] = process.argv.slice(2);
const input = new FormatContext();
const output = new FormatContext();
const packet = new Packet();
let ending = false;

process.once('SIGTERM', () => {
  ending = true;
});
FFmpegError.throwIfError(await input.openInput(file), 'open');
FFmpegError.throwIfError(await input.findStreamInfo(null), 'probe');
FFmpegError.throwIfError(output.allocOutputContext2(null, 'whip', url), 'allocate');
for (const { codecpar } of input.streams) {
  const stream = output.newStream();
  FFmpegError.throwIfError(codecpar.copy(stream.codecpar), 'copy');
  stream.codecpar.codecTag = 0;
}
FFmpegError.throwIfError(await output.writeHeader(Dictionary.fromObject({ authorization: token, handshake_timeout: '60000' })), 'publish');
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
