// Recording baseline: writes received UDP packets unchanged to one file per source.
import { createSocket } from 'node:dgram';
import { open } from 'node:fs/promises';
import { join } from 'node:path';

const [folder = '.'] = process.argv.slice(2);
/** Milliseconds between two writes. */
const interval = 250;
/** @type {Map<number, Buffer[]>} */
const waiting = new Map();
const files = new Map();

const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
socket.on('message', (packet) => {
  const source = packet.readUInt32BE(8);
  const packets = waiting.get(source);
  if (packets) packets.push(packet);
  else waiting.set(source, [packet]);
});
setInterval(async () => {
  for (const [source, packets] of waiting) {
    waiting.delete(source);
    if (!files.has(source)) files.set(source, open(join(folder, String(source)), 'w'));
    const file = await files.get(source);
    await file.write(Buffer.concat(packets));
  }
}, interval);
socket.bind(0, '127.0.0.1', () => {
  socket.setRecvBufferSize(4 * 1024 * 1024);
  console.log(`"url":"udp://127.0.0.1:${socket.address().port}"`);
});
