// UDP batches of the media worker: with and without batches and segments, and with system calls that fail, nothing is lost or reordered,
// and WebRTC peers receive only authentic packets.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ProtectionProfileAeadAes128Gcm, ProtectionProfileAes128CmHmacSha1_80 } from 'werift';
import { isRtcp, parseRtp } from '../../node/components/rtp/rtp-reader.ts';
import { rtpPacket } from '../../node/components/rtp/rtp-writer.ts';
import type { MediaWorkerPoolOptions } from '../../node/media/worker/worker-pool.ts';
import type { RoomMedia } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { MediaLink } from '../kit/hostile/media-link.ts';
import { vp8Packet, vp8Parameters } from '../kit/hostile/rtp.ts';
import { enterRoom } from '../kit/network/room-sockets.ts';
import { dueSince } from '../kit/pace.ts';
import { runCommand } from '../kit/processes/command.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { workerBin } from '../kit/processes/worker-bin.ts';
import { tempFolder } from '../kit/temp-folder.ts';
import { engineFor, openRoom } from './kit.ts';

const ssrc = 77;
const opus = {
  codecs: [{ mimeType: 'audio/opus', payloadType: 108, clockRate: 48_000, channels: 2, parameters: {}, rtcpFeedback: [] }],
  encodings: [{ ssrc }],
  headerExtensions: [],
  rtcp: { cname: 'test' },
};
/** Equal, shorter and longer ones, and one that does not fit into a batch. */
const sizes = [400, 400, 400, 200, 400, 900, 900, 900, 900, 30, 1_700, 900];
const bursts = 4;
const perBurst = 60;

/** Preloaded into the worker: each call fails by its number, in a way that Linux allows. */
const faultySystemCalls = `
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned calls;

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
  switch (calls++ % 6) {
    case 0: errno = EAGAIN; return -1;
    case 1: errno = EINTR; return -1;
    case 2: errno = ENOBUFS; return -1;
    case 3: count = (count + 1) / 2; break;
    case 4: errno = EIO; return -1;
  }
  return syscall(SYS_sendmmsg, fd, messages, count, flags);
}
`;
const withoutSegments = `
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
  unsigned plain = 0;
  while (plain < count && messages[plain].msg_hdr.msg_controllen == 0) plain++;
  if (plain == 0) { errno = EINVAL; return -1; }
  return syscall(SYS_sendmmsg, fd, messages, plain, flags);
}
`;

for (const [title, options] of [
  ['batches with segments', { sending: { batch: true, gso: true } }],
  ['batches without segments', { sending: { batch: true, gso: false } }],
  ['no batches', { sending: { batch: false, gso: false } }],
] as const)
  test(`bursts of packets arrive completely and in order: ${title}`, (t) => forwardBursts(t, options));

for (const [title, source] of [
  ['system calls fail', faultySystemCalls],
  ['the kernel rejects segments', withoutSegments],
] as const)
  test(`bursts of packets arrive completely and in order if ${title}`, async (t) => {
    await forwardBursts(t, { workerBin: await workerWith(t, source) });
  });

/** RTCP packet types (RFC 3550, section 12.1; RFC 4585, section 6.1). */
const [senderReport, receiverReport, payloadFeedback] = [200, 201, 206];
const packetInterval = 10;

for (const [title, profile, env] of [
  ['AES128_CM in batches', ProtectionProfileAes128CmHmacSha1_80, {}],
  ['AEAD_AES_128_GCM in batches', ProtectionProfileAeadAes128Gcm, {}],
  ['AES128_CM without batches', ProtectionProfileAes128CmHmacSha1_80, { SVC_WEBRTC_BATCH: 'false' }],
] as const)
  test(`RTP and RTCP to WebRTC peers are authentic: ${title}`, async (t) => {
    const node = await startNode(t, env);
    await node.api.post('/room', { roomId: 'r' });
    const [publisher, viewer] = [await enterRoom(t, node, 'r'), await enterRoom(t, node, 'r')];
    const sending = await MediaLink.open(publisher, 'send');
    t.after(() => sending.close());
    const toPublisher = decrypted(sending);
    assert.ok((await publisher.request('publish', { transportId: sending.id, kind: 'video', rtpParameters: vp8Parameters(ssrc) })).ok);
    // Without header extensions, the probator sends nothing.
    const rtpCapabilities = { ...(viewer.welcome.data?.rtpCapabilities as object), headerExtensions: [] };
    assert.ok((await viewer.request('join', { rtpCapabilities })).ok);
    const receiving = await MediaLink.open(viewer, 'recv', false, profile);
    t.after(() => receiving.close());
    const toViewer = decrypted(receiving);
    const { trackId } = await viewer.waitFor('trackSubscribed');
    const started = performance.now();
    let number = 0;
    const frames = setInterval(() => {
      for (; number < dueSince(started, packetInterval); number += 1) sending.sendRtp(vp8Packet(ssrc, number));
    }, packetInterval);
    t.after(() => clearInterval(frames));
    // A key frame is only requested from a stream that the worker knows.
    await eventually('the first packets', () => number > 0);
    assert.ok(await sending.taken());
    assert.ok((await viewer.request('trackReady', { trackId })).ok);

    const types = (packets: readonly Buffer[]) => new Set(packets.filter(isRtcp).map((packet) => packet[1]));
    const media = () => toViewer.filter((packet) => !isRtcp(packet));
    await eventually('a request for a key frame', () => types(toPublisher).has(payloadFeedback));
    await eventually('a receiver report', () => types(toPublisher).has(receiverReport));
    await eventually('a sender report and media', () => types(toViewer).has(senderReport) && media().length >= 100);
    for (const packet of media()) assert.deepEqual(packet.subarray(-900), Buffer.alloc(900, packet.at(-1)));
  });

/** Packets of the worker. The test fails at the first one that is not authentic. */
function decrypted(link: MediaLink): Buffer[] {
  const packets: Buffer[] = [];
  link.onPacket = (packet) => packets.push(link.decrypt(packet));
  return packets;
}

/** The worker is stopped while a burst is sent, so it reads many packets in one iteration and sends them from two sockets. */
async function forwardBursts(t: TestContext, options: Partial<MediaWorkerPoolOptions>): Promise<void> {
  const pool = await engineFor(t, options);
  const pid = pool.workers()[0]?.pid ?? assert.fail('no worker');
  const room = openRoom(pool);
  const from = await udpSocket(t);
  const input = room.openInput();
  const { ip, port } = await input.connect({ ip: '127.0.0.1', port: from.address().port });
  await input.publish({ trackId: 'a', kind: 'audio', rtpParameters: opus });
  const receivers = await Promise.all([receive(t, room), receive(t, room)]);
  const sent: string[] = [];
  for (let burst = 0; burst < bursts; burst += 1) {
    process.kill(pid, 'SIGSTOP');
    try {
      for (let count = 0; count < perBurst; count += 1) {
        const sequence = sent.length + 1;
        const payload = Buffer.alloc(sizes[sequence % sizes.length] ?? 400, sequence);
        payload.writeUInt32BE(sequence);
        sent.push(`${sequence} ${payload.length}`);
        const packet = rtpPacket({ payloadType: 108, sequence, timestamp: sequence * 960, ssrc, marker: false }, payload);
        await new Promise((resolve) => from.send(packet, port, ip, resolve));
      }
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await eventually(
      () => `${sent.length} packets, got ${receivers.map((received) => received.length)}`,
      () => receivers.every((received) => received.length >= sent.length),
    );
  }
  assert.deepEqual(receivers, [sent, sent]);
}

/** Number and length of each received packet. */
async function receive(t: TestContext, room: RoomMedia): Promise<string[]> {
  const socket = await udpSocket(t);
  const received: string[] = [];
  socket.on('message', (packet) => {
    if (isRtcp(packet)) return;
    const payload = parseRtp(packet)?.payload ?? Buffer.alloc(4);
    received.push(`${payload.readUInt32BE(0)} ${payload.length}`);
  });
  const output = room.openOutput();
  await output.connect({ ip: '127.0.0.1', port: socket.address().port });
  await output.subscribe('a');
  await output.resume('a');
  return received;
}

async function udpSocket(t: TestContext) {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  t.after(() => socket.close());
  await once(socket, 'listening');
  return socket;
}

/** A worker with system calls of its own; the compiler belongs to the packages that building the worker needs. */
async function workerWith(t: TestContext, source: string): Promise<string> {
  const folder = tempFolder(t);
  const [library, script] = [join(folder, 'calls.so'), join(folder, 'worker')];
  await runCommand(['g++', '-shared', '-fPIC', '-x', 'c', '-o', library, '-'], { input: source });
  writeFileSync(script, `#!/bin/sh\nexport LD_PRELOAD=${library}\nexec ${workerBin} "$@"\n`);
  chmodSync(script, 0o755);
  return script;
}
