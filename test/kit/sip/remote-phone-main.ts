// Program: audio of a remote phone in PCMA. It plays a recording in a loop to the source of received packets, and stores received audio.
import { createSocket, type RemoteInfo } from 'node:dgram';
import { appendFileSync, readFileSync } from 'node:fs';
import { isRtcp, parseRtp } from '../../../node/components/rtp/rtp-reader.ts';
import { rtpPacket } from '../../../node/components/rtp/rtp-writer.ts';
import { dueSince } from '../pace.ts';

const payloadType = 8;
const [address, port, said = '', heard = ''] = process.argv.slice(2);
const voice = readFileSync(said);
const socket = createSocket('udp4');
let listener: RemoteInfo | undefined;
let sent = 0;
socket.on('message', (bytes, from) => {
  const packet = isRtcp(bytes) ? undefined : parseRtp(bytes);
  if (packet?.payloadType !== payloadType) return;
  listener = from;
  appendFileSync(heard, packet.payload);
});
socket.bind(Number(port), address);
const start = performance.now();
let due = 0;
setInterval(() => {
  for (; due < dueSince(start, 20); due += 1) {
    if (!listener) continue;
    const from = (sent * 160) % (voice.length - 160);
    const header = { payloadType, sequence: sent % 2 ** 16, timestamp: (sent * 160) % 2 ** 32, ssrc: 815, marker: sent === 0 };
    socket.send(rtpPacket(header, voice.subarray(from, from + 160)), listener.port, listener.address);
    sent += 1;
  }
}, 5);
