// Crash report of a patched media worker: it names the transport of its last packet.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pino } from 'pino';
import { eventually } from '../kit/eventually.ts';
import { workerBin } from '../kit/processes/worker-bin.ts';
import { engineFor, openRoom } from './kit.ts';

const hasPatch = workerBin !== undefined && readFileSync(workerBin).includes('last packet: transport ');

for (const [signal, end] of [
  ['SIGABRT', 'died'],
  ['SIGSEGV', 'died'],
] as const)
  test(`a worker that dies of ${signal} names the room of its last packet`, { skip: !hasPatch }, async (t) => {
    const lines: string[] = [];
    const mediaWorkerPool = await engineFor(t, { log: pino({ level: 'error' }, { write: (line) => void lines.push(line) }) });
    const [sender, other] = [openRoom(mediaWorkerPool, { roomId: 'sender' }), openRoom(mediaWorkerPool, { roomId: 'other' })];
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    t.after(() => socket.close());
    await once(socket, 'listening');
    await other.rtpCapabilities();
    const { ip, port } = await sender.openInput().connect({ ip: '127.0.0.1', port: socket.address().port });
    // RTP (RFC 3550, section 5.1) of an unknown SSRC.
    const packet = Buffer.from([0x80, 0x60, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 0]);
    await new Promise((resolve) => socket.send(packet, port, ip, resolve));
    // A response to a request sent after the packet follows the packet.
    await other.openInput().connect({ ip: '127.0.0.1', port: socket.address().port });
    process.kill(mediaWorkerPool.workers()[0]?.pid ?? 0, signal);
    await eventually('crash', () => other.heard.crashes.length > 0);
    assert.deepEqual(sender.heard.crashes, [`media worker ${end} after a packet of this room`]);
    assert.deepEqual(other.heard.crashes, [`media worker ${end} after a packet of another room`]);
    assert.ok(
      lines.some((line) => line.includes('"lastPacket":"sender","handling":false')),
      lines.join(''),
    );
  });
