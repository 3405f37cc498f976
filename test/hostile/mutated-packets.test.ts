// Fuzzing: packets of each protocol, mutated with a fixed seed and authenticated again, next to a healthy room. `npm run fuzz` sends a
// million of each.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { ByteFuzzer } from '../kit/fuzzer.ts';
import { joinAsGuest, makeRoom } from '../kit/hostile/guests.ts';
import { startHealthyRoom } from '../kit/hostile/healthy-room.ts';
import { MediaLink } from '../kit/hostile/media-link.ts';
import { publications, rtcpSamples, rtpSamples } from '../kit/hostile/packet-samples.ts';
import { associate, packetOf, sctpSamples } from '../kit/hostile/sctp.ts';
import type { EnteredSocket } from '../kit/network/peer-socket.ts';
import { memoryOf } from '../kit/processes/memory.ts';
import { type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';
import { attack } from './attack.ts';
import { attacks } from './mutated-packets.attacks.ts';

const packets = Number(process.env.FUZZ_PACKETS ?? 3_000);
const seed = Number(process.env.FUZZ_SEED ?? 1);
/** Packets per burst: few enough for the receive buffer that all transports of a worker share. */
const burst = 50;
/** Most associations are ended earlier by a chunk. */
const packetsPerAssociation = 20;

attack(attacks.rtp, (t) =>
  fuzz(t, async (scene, byteFuzzer) => {
    const { send } = await scene.enter();
    const samples = rtpSamples();
    const numbers = new Map<number, number>();
    await scene.burst([send], () => {
      const packet = byteFuzzer.mutate(samples);
      if (packet.length < 12) return;
      if (byteFuzzer.below(32) > 0) packet[0] = ((packet[0] ?? 0) & 0x3f) | 0x80;
      const sample = samples[byteFuzzer.below(samples.length)];
      if (byteFuzzer.below(16) > 0) sample?.copy(packet, 8, 8, 12);
      const ssrc = packet.readUInt32BE(8);
      const number = (numbers.get(ssrc) ?? 0) + 1;
      numbers.set(ssrc, number);
      packet.writeUInt16BE(number & 0xffff, 2);
      send.sendRtp(packet, number >>> 16);
    });
  }),
);

attack(attacks.rtcp, (t) =>
  fuzz(t, async (scene, byteFuzzer) => {
    const { send, recv, received } = await scene.enter();
    const samples = rtcpSamples([...publications.map(({ ssrc }) => ssrc), ...received]);
    await scene.burst([send, recv], (link) => {
      const packet = byteFuzzer.mutate(samples);
      if (packet.length < 8) return;
      if (byteFuzzer.below(32) > 0) packet[0] = ((packet[0] ?? 0) & 0x3f) | 0x80;
      if (byteFuzzer.below(32) > 0) packet[1] = 200 + byteFuzzer.below(8);
      link.sendRtcp(packet);
    });
  }),
);

attack(attacks.sctp, (t) =>
  fuzz(t, async (scene, byteFuzzer) => {
    const link = await MediaLink.open(await scene.guest(), 'send', true);
    try {
      const { verificationTag, cookieEcho, ownTsn, peerInitialTsn, renew } = await associate(link);
      const samples = [...sctpSamples(ownTsn, (peerInitialTsn - 1) >>> 0), cookieEcho];
      const send = (each: MediaLink) => {
        const chunks = Array.from({ length: 1 + byteFuzzer.below(3) }, () =>
          byteFuzzer.below(4) === 0 ? (samples[byteFuzzer.below(samples.length)] ?? cookieEcho) : byteFuzzer.mutate(samples),
        );
        void each.sendMessage(packetOf(byteFuzzer.below(16) === 0 ? byteFuzzer.below(2 ** 31) : verificationTag, chunks));
      };
      // A chunk that ends the association costs an SCTP handshake, and a DTLS handshake only if the worker rejects that.
      do if (!(await scene.burst([link], send, packetsPerAssociation))) return;
      while (!scene.done() && (await renew()));
    } finally {
      link.close();
    }
  }),
);

attack(attacks.stun, (t) =>
  fuzz(t, async (scene, byteFuzzer) => {
    const { send, recv } = await scene.enter();
    await scene.burst([send, recv], (link) => {
      const attribute = byteFuzzer.mutate([
        Buffer.from('802900081122334455667788', 'hex'),
        Buffer.from('00250000', 'hex'),
        Buffer.from('0020000800011111deadbeef', 'hex'),
      ]);
      const padded = Buffer.concat([attribute, Buffer.alloc((4 - (attribute.length % 4)) % 4)]);
      const request = link.bindingRequest([padded]);
      link.send(byteFuzzer.below(4) === 0 ? byteFuzzer.mutate([request]) : request);
    });
  }),
);

attack(attacks.dtls, (t) =>
  fuzz(t, async (scene, byteFuzzer) => {
    const { send, recv } = await scene.enter();
    await scene.burst([send, recv], (link) => {
      const record = byteFuzzer.mutate(link.sentDtls);
      if (record.length > 0) record[0] = 20 + byteFuzzer.below(8);
      link.send(record);
    });
  }),
);

attack(attacks.tcpFrames, (t) =>
  fuzz(t, async (scene, byteFuzzer) => {
    const { send } = await scene.enter();
    while (!scene.done() && (await send.taken())) {
      const socket = connect({ host: send.candidate.address, port: send.candidate.port });
      socket.on('error', () => {});
      await once(socket, 'connect');
      await scene.burst(
        [send],
        () => {
          const content = byteFuzzer.mutate([send.bindingRequest(), ...send.sentDtls]);
          const length = Buffer.alloc(2);
          length.writeUInt16BE(byteFuzzer.below(8) === 0 ? byteFuzzer.below(65_536) : content.length);
          socket.write(Buffer.concat([length, content]));
        },
        100,
      );
      socket.destroy();
    }
  }),
);

/** Runs an attack next to a healthy room: the worker survives, the room misses nothing, memory is released. */
async function fuzz(t: TestContext, run: (scene: Scene, byteFuzzer: ByteFuzzer) => Promise<void>): Promise<void> {
  const node = await startNodeProcess(t, { SVC_RATE_LIMIT_SOCKET: '100000' });
  const health = await startHealthyRoom(t, node);
  const [worker = 0] = await node.children();
  await makeRoom(node, 'attacked');
  const before = memoryOf(worker);
  const scene = new Scene(t, node);
  const byteFuzzer = new ByteFuzzer(seed);
  // Again if the attack ended a session or a link.
  while (!scene.done()) await run(scene, byteFuzzer);
  assert.deepEqual(await node.children(), [worker], node.output().slice(-2_000));
  await health();
  const grown = memoryOf(worker) - before;
  t.diagnostic(`${packets} packets, ${scene.sessions} sessions, the worker grew by ${Math.round(grown / 1e6)} MB`);
}

class Scene {
  readonly #t: TestContext;
  readonly #node: NodeProcess;
  #left = packets;
  #guest: EnteredSocket | undefined;
  sessions = 0;

  constructor(t: TestContext, node: NodeProcess) {
    this.#t = t;
    this.#node = node;
  }

  done(): boolean {
    return this.#left <= 0;
  }

  /** A guest with an open socket: a new one if the attack ended the session of the last. */
  async guest(): Promise<EnteredSocket> {
    if (this.#guest?.webSocket.readyState !== 1) {
      this.#guest = await joinAsGuest(this.#t, this.#node, 'attacked');
      this.sessions += 1;
    }
    return this.#guest;
  }

  /** A guest that publishes each codec and one that receives it. `received`: sources as seen by the receiver. */
  async enter() {
    const guest = await this.guest();
    const listener = await joinAsGuest(this.#t, this.#node, 'attacked');
    const [send, recv] = [await MediaLink.open(guest, 'send'), await MediaLink.open(listener, 'recv')];
    this.#t.after(() => {
      send.close();
      recv.close();
    });
    const received: number[] = [];
    for (const { kind, rtpParameters } of publications) {
      const published = await guest.request('publish', { transportId: send.id, kind, rtpParameters });
      assert.ok(published.ok, JSON.stringify(published.error));
      const trackId = published.data?.trackId;
      const subscribed = await listener.waitFor('trackSubscribed', (data) => data.trackId === trackId);
      const { encodings } = subscribed.rtpParameters as { encodings: { ssrc: number }[] };
      received.push(...encodings.map(({ ssrc }) => ssrc));
      await listener.request('trackReady', { trackId });
    }
    return { guest, listener, send, recv, received };
  }

  /**
   * Sends remaining packets (at most `most`) over the links in turn, and waits for the worker after each few. Resolves with false if a link
   * is lost.
   */
  async burst(links: readonly MediaLink[], send: (link: MediaLink) => void, most = Number.POSITIVE_INFINITY): Promise<boolean> {
    for (let sent = 0; sent < most && this.#left > 0; ) {
      for (const link of links) {
        for (let count = 0; count < burst && sent < most && this.#left > 0; count += 1) {
          send(link);
          sent += 1;
          this.#left -= 1;
        }
        if (!(await link.taken())) return false;
      }
    }
    return true;
  }
}
