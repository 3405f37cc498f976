// A hostile guest with the token of a peer against a media worker: authenticated packets that no honest client sends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { processUsage } from '../../node/common/process-usage.ts';
import { eventually } from '../kit/eventually.ts';
import { joinAsGuest, makeRoom } from '../kit/hostile/guests.ts';
import { startHealthyRoom } from '../kit/hostile/healthy-room.ts';
import { MediaLink } from '../kit/hostile/media-link.ts';
import { publications, rtpSamples } from '../kit/hostile/packet-samples.ts';
import { opusPacket, opusParameters } from '../kit/hostile/rtp.ts';
import { associate, chunk } from '../kit/hostile/sctp.ts';
import type { EnteredSocket } from '../kit/network/peer-socket.ts';
import { keepDoing } from '../kit/pace.ts';
import { memoryOf } from '../kit/processes/memory.ts';
import { type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';
import { attack } from './attack.ts';
import { attacks } from './media-worker.attacks.ts';

const rounds = 20;
const clients = 1_000;
/** Limit of patch 0008. */
const perNetwork = 128;
/** Milliseconds; connections without STUN are closed after 10 s. */
const timeoutMs = 60_000;
const manySources = 40_000;
const sourcesAtOnce = 5_000;
/** Limit of patch 0021. */
const maxCopies = 4;
/** Milliseconds: a fifth copy would follow 800 ms after the last one. */
const askedFor = 2_000;
const ssrc = 4242;
const audioLevel = { uri: 'urn:ietf:params:rtp-hdrext:ssrc-audio-level', id: 10 };

attack(attacks.emptyExtension, async (t) => {
  const { node, health, workers, guest } = await startScene(t);
  const link = await publishOpus(t, guest);
  // RFC 8285, section 4.3: profile 0x1000, one word: id 10, length 0, two bytes of padding.
  const extension = Buffer.from([0x10, 0x00, 0, 1, audioLevel.id, 0, 0, 0]);
  for (let number = 1; number <= rounds; number += 1) link.sendRtp(opusPacket(ssrc, number, extension));
  await answersAll(guest, node, workers);
  await health();
});

attack(attacks.sctpAfterShutdown, async (t) => {
  const { node, health, workers, guest } = await startScene(t);
  for (let round = 0; round < rounds / 2; round += 1) {
    const link = await openLink(t, guest, 'recv', true);
    const association = await associate(link);
    // RFC 9260, sections 3.3.8 and 5.2.4.
    const lastTsn = Buffer.alloc(4);
    lastTsn.writeUInt32BE((association.peerInitialTsn - 1) >>> 0);
    await association.send(chunk(7, 0, lastTsn));
    await association.send(association.cookieEcho);
    await association.send(association.cookieEcho);
  }
  await answersAll(guest, node, workers);
  await health();
});

attack(attacks.largePacket, async (t) => {
  const { node, health, workers, guest } = await startScene(t);
  const link = await publishOpus(t, guest);
  const words = 8_250;
  const extension = Buffer.alloc(4 + 4 * words);
  extension.writeUInt16BE(0x1000, 0);
  extension.writeUInt16BE(words, 2);
  for (let number = 1; number <= rounds; number += 1) link.sendRtp(opusPacket(ssrc, number, extension));
  await answersAll(guest, node, workers);
  await health();
});

attack(attacks.halfFrames, async (t) => {
  const { node, health, workers, guest } = await startScene(t);
  const [worker = 0] = workers;
  const created = await guest.request('createTransport', { direction: 'send', sctp: false });
  const candidates = created.data?.iceCandidates as { protocol: string; address: string; port: number }[];
  const { address, port } = candidates.find(({ protocol }) => protocol === 'tcp') ?? assert.fail('no ICE-TCP');
  const before = memoryOf(worker);
  const open = new Set<Socket>();
  let refused = 0;
  // A frame length (RFC 4571) followed by fewer bytes.
  const halfFrame = Buffer.concat([Buffer.from([0x80, 0x00]), Buffer.alloc(30_000, 1)]);
  for (let count = 0; count < clients; count += 1) {
    const socket = connect({ host: address, port });
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', () => {});
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      refused += 1;
    });
    await once(socket, 'connect');
    socket.write(halfFrame);
  }
  await eventually('the oldest connections are closed', () => refused >= clients - perNetwork, { within: timeoutMs, every: 20 });
  assert.equal(open.size, perNetwork);
  const grown = memoryOf(worker) - before;
  t.diagnostic(`${clients} connections: ${refused} closed at once, the worker grew by ${Math.round(grown / 1e6)} MB`);
  assert.ok(grown < perNetwork * 64 * 1024 * 4, `the worker grew by ${grown} bytes`);
  await eventually('connections without STUN are closed', () => open.size === 0, { within: timeoutMs, every: 20 });
  assert.deepEqual(await node.children(), [worker]);
  await health();
});

attack(attacks.repeatedNacks, async (t) => {
  const { node, health, workers, guest } = await startScene(t);
  const [, video = assert.fail()] = publications;
  const send = await openLink(t, guest, 'send');
  const listener = await joinAsGuest(t, node, 'attacked');
  const recv = await openLink(t, listener, 'recv');
  const published = await guest.request('publish', { transportId: send.id, kind: video.kind, rtpParameters: video.rtpParameters });
  assert.ok(published.ok, JSON.stringify(published.error));
  const trackId = published.data?.trackId;
  const { rtpParameters } = await listener.waitFor('trackSubscribed', (data) => data.trackId === trackId);
  const [encoding = assert.fail()] = (rtpParameters as { encodings: { ssrc: number; rtx: { ssrc: number } }[] }).encodings;
  const numbers: number[] = [];
  let copies = 0;
  recv.onPacket = (packet) => {
    const source = packet.readUInt32BE(8);
    if (source === encoding.ssrc) numbers.push(packet.readUInt16BE(2));
    if (source === encoding.rtx.ssrc) copies += 1;
  };
  await listener.request('trackReady', { trackId });
  const sample = rtpSamples().find((packet) => packet.readUInt32BE(8) === video.ssrc) ?? assert.fail();
  send.sendRtp(sample);
  await eventually('the packet is forwarded', () => numbers.length > 0);
  const ask = () => recv.sendRtcp(genericNack(encoding.ssrc, numbers[0] ?? 0));
  await eventually('it is retransmitted up to the limit', () => {
    ask();
    return copies === maxCopies;
  });
  await keepDoing(askedFor, ask, 20);
  assert.ok(await recv.taken());
  assert.equal(copies, maxCopies);
  await answersAll(guest, node, workers);
  await health();
});

attack(attacks.manySources, async (t) => {
  const { node, health, workers, guest } = await startScene(t);
  const [worker = 0] = workers;
  const link = await openLink(t, guest, 'send');
  let source = 0;
  const sendFromOthers = async () => {
    const before = await processorTime(worker);
    for (const end = source + sourcesAtOnce; source < end; ) {
      source += 1;
      link.sendRtcp(receiverReport(source));
      if (source % 50 === 0) await link.taken();
    }
    return (await processorTime(worker)) - before;
  };
  const costs: number[] = [];
  while (source < manySources) costs.push(await sendFromOthers());
  t.diagnostic(`${source} sources, CPU seconds of the worker per ${sourcesAtOnce}: ${costs.map((cost) => cost.toFixed(2)).join(' ')}`);
  const [first = 0] = costs;
  const last = costs.at(-1) ?? 0;
  assert.ok(last < 2 * first, `the last took ${last} s, the first ${first} s`);
  await answersAll(guest, node, workers);
  await health();
});

/** CPU seconds since the start of the process. */
async function processorTime(pid: number): Promise<number> {
  return (await processUsage(pid))?.cpu ?? assert.fail(`process ${pid} does not exist`);
}

/** An empty report (RFC 3550, section 6.4.2). */
function receiverReport(source: number): Buffer {
  const packet = Buffer.from('80c9000100000000', 'hex');
  packet.writeUInt32BE(source, 4);
  return packet;
}

/** Requests one packet again (RFC 4585, section 6.2.1). */
function genericNack(source: number, number: number): Buffer {
  const packet = Buffer.from('81cd0003000000010000000000000000', 'hex');
  packet.writeUInt32BE(source, 8);
  packet.writeUInt16BE(number, 12);
  return packet;
}

/** A node with a healthy room, and a guest in another room. */
async function startScene(t: TestContext) {
  const node = await startNodeProcess(t);
  const health = await startHealthyRoom(t, node);
  const workers = await node.children();
  await makeRoom(node, 'attacked');
  return { node, health, workers, guest: await joinAsGuest(t, node, 'attacked') };
}

async function publishOpus(t: TestContext, guest: EnteredSocket): Promise<MediaLink> {
  const link = await openLink(t, guest, 'send');
  const rtpParameters = opusParameters(ssrc, [audioLevel]);
  const published = await guest.request('publish', { transportId: link.id, kind: 'audio', rtpParameters });
  assert.ok(published.ok, JSON.stringify(published.error));
  return link;
}

async function openLink(t: TestContext, guest: EnteredSocket, direction: 'send' | 'recv', sctp = false) {
  const link = await MediaLink.open(guest, direction, sctp);
  t.after(() => link.close());
  return link;
}

/**
 * Resolves when the worker responds for the transports of the guest, after it processed all earlier packets, and is still the same process.
 */
async function answersAll(guest: EnteredSocket, node: NodeProcess, workers: readonly number[]): Promise<void> {
  const link = await MediaLink.open(guest, 'recv');
  link.close();
  assert.deepEqual(await node.children(), workers);
}
