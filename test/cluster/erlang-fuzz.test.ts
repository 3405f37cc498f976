// Fuzzing over real sockets: mutated frames to EPMD, the handshake and established connections do not affect nodes. `npm run fuzz` sends a
// million.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { operations, writeControl } from '../../node/cluster/erlang/control.ts';
import { aliveRequest, namesRequest, portPleaseRequest } from '../../node/cluster/erlang/epmd/epmd-packets.ts';
import { ownFlags } from '../../node/cluster/erlang/handshake/flags.ts';
import { namePacket, replyPacket } from '../../node/cluster/erlang/handshake/handshake-packets.ts';
import { TermWriter } from '../../node/cluster/erlang/terms/term-writer.ts';
import { atom, ImproperList, Pid, Reference, tuple } from '../../node/cluster/erlang/terms/terms.ts';
import { emits, eventually } from '../kit/eventually.ts';
import { ByteFuzzer } from '../kit/fuzzer.ts';
import { startDistNode } from '../kit/network/dist-nodes.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { RawDistPeer } from '../kit/network/raw-dist-peer.ts';
import { liveHeap } from '../kit/processes/resources.ts';
import { turns } from '../kit/turns.ts';

const frames = Number(process.env.FUZZ_PACKETS ?? 100_000);
const seed = Number(process.env.FUZZ_SEED ?? 9000);
/** Before the memory is measured: what a node loads and compiles at its first frames is no leak. */
const warmUp = 5_000;
const attacker = 'zz@127.0.0.1';
const pid = new Pid(attacker, 1, 0, 7);
const reference = new Reference(attacker, 7, [1, 2, 3]);
const call = tuple(atom('$gen_call'), tuple(pid, new ImproperList([atom('alias')], reference)), tuple(atom('is_auth'), atom(attacker)));
const init = tuple(atom('init_connect'), tuple(8, 1), atom(attacker), tuple(atom('locker'), atom('x'), new Map(), pid));

const messages: Buffer[] = [
  [tuple(operations.regSend, pid, atom(''), atom('svc')), call],
  [tuple(operations.regSend, pid, atom(''), atom('net_kernel')), call],
  [tuple(operations.regSend, pid, atom(''), atom('global_name_server')), tuple(atom('$gen_cast'), init)],
  [
    tuple(operations.regSend, pid, atom(''), atom('global_name_server')),
    tuple(atom('$gen_cast'), tuple(atom('resolved'), 1, [], [], 1, [], 1)),
  ],
  [tuple(operations.monitor, pid, atom('unknown'), reference)],
  [tuple(operations.link, pid, new Pid('a@127.0.0.1', 99, 0, 1))],
  [tuple(operations.unlinkId, 1, pid, pid)],
].map(([control, message]) => {
  const writer = new TermWriter();
  writeControl(writer, control ?? [], message);
  return writer.take();
});

/** Sends bytes, closes its side and waits for the end. */
async function throwAt(port: number, bytes: Buffer): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  const closed = closeOf(socket);
  socket.end(bytes);
  await closed;
}

test('mutated frames leave nodes, their calls and their memory unaffected', { timeout: 480_000 + frames / 10 }, async (t) => {
  const epmdPort = await freePort();
  const a = await startDistNode(t, 'a', epmdPort);
  const b = await startDistNode(t, 'b', epmdPort);
  a.node.register('svc', { call: (request) => request, cast: () => {}, info: () => {} });
  await a.node.connect(b.node.name);
  const byteFuzzer = new ByteFuzzer(seed);
  const requests = [
    aliveRequest({ name: 'zz', port: 1, hidden: false, highest: 6, lowest: 6, extra: Buffer.alloc(0) }),
    portPleaseRequest('a'),
    namesRequest(),
  ];
  const hellos = [
    namePacket({ flags: ownFlags, creation: 1, name: attacker }),
    replyPacket({ challenge: 1, digest: Buffer.alloc(16) }),
  ].map(framed);

  const round = async (connections: number, count: number): Promise<void> => {
    for (let index = 0; index < connections; index += 1) {
      await throwAt(epmdPort, byteFuzzer.mutate(requests));
      await throwAt(a.node.port, byteFuzzer.mutate(hellos));
    }
    let left = count;
    while (left > 0) {
      const socket = await RawDistPeer.dial(undefined, a.node.port);
      await socket.shakeHands(attacker);
      socket.socket.resume();
      const closed = closeOf(socket.socket);
      for (; left > 0 && !socket.socket.closed; left -= 1) {
        const bytes = byteFuzzer.mutate(messages);
        const length = Buffer.alloc(4);
        length.writeUInt32BE(bytes.length);
        socket.socket.write(Buffer.concat([length, bytes]));
        if (left % 4 === 0) await turns();
      }
      socket.socket.destroy();
      await closed;
      await eventually('the hostile node is disconnected', () => !a.node.isConnected(attacker), { wakes: emits(a.node, 'nodeDown') });
    }
  };

  await round(200, warmUp);
  a.record.lines.length = 0;
  const before = await liveHeap();
  await round(frames / 500, frames - warmUp);
  a.record.lines.length = 0;
  const grown = (await liveHeap()) - before;
  t.diagnostic(`${frames} frames: ${grown} bytes more`);
  assert.ok(grown < 3_000_000, `${grown} bytes more`);
  assert.equal(String(await b.node.call(a.node.name, 'svc', 'still here', 30_000)), 'still here');
  assert.deepEqual(a.node.connections, [b.node.name]);
  const c = await startDistNode(t, 'c', epmdPort);
  assert.ok(await c.node.connect(a.node.name));
});

function framed(packet: Buffer): Buffer {
  return Buffer.concat([Buffer.of(packet.length >> 8, packet.length), packet]);
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
