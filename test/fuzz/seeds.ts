// Initial inputs of the worker's fuzz targets, from the packet samples of the layer `hostile`: node test/fuzz/seeds.ts FOLDER
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publications, rtcpSamples, rtpSamples } from '../kit/hostile/packet-samples.ts';
import { sctpSamples } from '../kit/hostile/sctp.ts';

type Step = readonly [kind: number, bytes: Buffer];

/** A step in the format of harness.cpp. */
function input(choice: number, steps: readonly Step[]): Buffer {
  const parts = steps.flatMap(([kind, bytes]) => [Buffer.from([kind, bytes.length >> 8, bytes.length & 255]), bytes]);
  return Buffer.concat([Buffer.of(choice), ...parts]);
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
/** Numbers of simulcast layers as in room.cpp. */
const layers = new Map([[5, [1011, 1012, 1013]]]);

function rtpInputs(): Buffer[] {
  return publications.map(({ ssrc }, choice) => {
    const packets = rtpSamples().filter((packet) => [ssrc, ssrc + 1000].includes(packet.readUInt32BE(8)));
    return input(
      choice,
      packets.map((packet, index) => numbered(packet, index)).map((packet) => [0, packet]),
    );
  });
}

function numbered(packet: Buffer, number: number): Buffer {
  packet.writeUInt16BE(number + 1, 2);
  packet.writeUInt32BE((number + 1) * 960, 4);
  return packet;
}

function simulcastInputs(): Buffer[] {
  return [...layers].map(([choice, ssrcs]) => {
    const vp8 = rtpSamples().filter((packet) => packet.readUInt32BE(8) === 1002);
    const packets = vp8.flatMap((packet) =>
      ssrcs.map((ssrc) => {
        const copy = Buffer.from(packet);
        copy[1] = 0x80 | 106;
        copy.writeUInt32BE(ssrc, 8);
        return copy;
      }),
    );
    return input(
      choice,
      packets.map((packet, index) => numbered(packet, index)).map((packet) => [0, packet]),
    );
  });
}

function rtcpInputs(): Buffer[] {
  return publications.flatMap(({ ssrc }, choice) => [
    input(
      choice,
      rtcpSamples([ssrc]).map((packet) => [6, packet]),
    ),
    input(choice, [
      ...rtcpSamples([20_000 + choice, 1234]).map((packet): Step => [0, packet]),
      [5, hex('000001 010002')],
      [1, hex('0400')],
    ]),
    input(choice, [[0, Buffer.concat(rtcpSamples([20_000 + choice]).slice(0, 4))]]),
  ]);
}

function sctpInputs(): Buffer[] {
  // FORWARD-TSN (RFC 3758) and a list of extensions (RFC 5061), as in browsers.
  const open: Step = [9, hex('c0000004 80080009 82c04000 00000000')];
  // In the format of harness and target: type, flags and value; acknowledgements count from the newest chunk.
  const chunks = sctpSamples(1_000, 0).map((chunk) => Buffer.concat([chunk.subarray(0, 2), chunk.subarray(4)]));
  return [
    input(0, [open, ...chunks.map((chunk): Step => [0, chunk]), [2, hex('0fa0')]]),
    ...chunks.map((chunk) => input(0, [open, [0, chunk], [2, hex('03e8')], [5, Buffer.alloc(0)], [0, chunk]])),
    input(0, [open, [7, hex('2000')], [13, Buffer.alloc(0)], [8, Buffer.alloc(0)], [2, hex('03e8')]]),
    input(0, [
      [2, hex('03e8')],
      [11, Buffer.alloc(0)],
      [10, hex('00')],
    ]),
  ];
}

function stunInputs(): Buffer[] {
  const priority = '0024000400000001';
  const controlling = '802a00081122334455667788';
  const attributes = [
    `${priority}${controlling}`,
    `${priority}${controlling}00250000`,
    `${priority}802900081122334455667788`,
    `${priority}c001000400000002`,
  ];
  const requests = attributes.map((text): Step => [0, hex(`01${text}`)]);
  return [
    input(0, [...requests, [5, hex('01')], ...requests, [1, hex('7530')]]),
    input(0, [requests[0] as Step, [6, hex('00')], [3, hex('0116feff000000000000000000040e00000000')]]),
    input(0, [
      [2, hex(`010101${priority}`)],
      [4, hex(`0100010000${'2112a442'}${'00'.repeat(12)}`)],
      [7, hex('01')],
      [8, hex('01')],
    ]),
  ];
}

function tcpInputs(): Buffer[] {
  const request = hex('01 0024000400000001 802a00081122334455667788');
  return [
    input(0, [
      [0, request],
      [9, hex('0116feff0000')],
      [3, hex('01')],
    ]),
    input(0, [
      [12, hex('01 05 0024000400000001')],
      [2, hex('01 ffff 00')],
      [8, hex('01 fffd 41')],
      [1, hex('2ee0')],
      [4, hex('01')],
    ]),
  ];
}

const [folder = ''] = process.argv.slice(2);
const upstream = [...rtpSamples(), ...rtcpSamples(publications.map(({ ssrc }) => ssrc))];
const all = {
  rtp: [...rtpInputs(), ...simulcastInputs()],
  rtcp: rtcpInputs(),
  sctp: sctpInputs(),
  stun: stunInputs(),
  tcp: tcpInputs(),
  upstream,
};
for (const [target, inputs] of Object.entries(all)) {
  mkdirSync(join(folder, target), { recursive: true });
  inputs.forEach((bytes, index) => {
    writeFileSync(join(folder, target, `seed-${index}`), bytes);
  });
}
