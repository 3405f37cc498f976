// Man-in-the-middle of the distribution: without the cookie, relays the handshake of a dialing node to another node to be accepted there.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { findNode, registerNode } from '../../../node/cluster/erlang/epmd/epmd-client.ts';
import {
  ackPacket,
  challengePacket,
  namePacket,
  parseChallengePacket,
  parseNamePacket,
} from '../../../node/cluster/erlang/handshake/handshake-packets.ts';
import { emits, eventually } from '../eventually.ts';
import { RawDistPeer } from './raw-dist-peer.ts';

export type RelayOptions = {
  /** Name of the impersonated node: the part before the @, on 127.0.0.1 or localhost. */
  name: string;
  /** The full name that the dialing node calls. */
  wholeName: string;
  /** Name of the attacked node: the part before the @. */
  target: string;
  epmdPort: number;
  /** Claims to support only Erlang's own proof. */
  erlang: boolean;
};

/** Result for one dialing node: the proof that it sent, if any, and true if the other node accepted it from the relay. */
export type Relayed = { proof: Buffer | undefined; letIn: boolean };

/** Takes over the name and resolves with the result for each dialing node, in order. */
export async function startRelay(t: TestContext, options: RelayOptions): Promise<() => Promise<Relayed>> {
  const home = { host: '127.0.0.1', port: options.epmdPort };
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const registration = await registerNode(home, { name: options.name, port });
  t.after(() => registration.close());
  const dialled: Socket[] = [];
  server.on('connection', (socket) => {
    socket.pause();
    dialled.push(socket);
    t.after(() => socket.destroy());
  });
  return async () => {
    return relay(t, await eventually('a node dials', () => dialled.shift(), { wakes: emits(server, 'connection') }), options);
  };
}

async function relay(t: TestContext, socket: Socket, { wholeName, target, epmdPort, erlang }: RelayOptions): Promise<Relayed> {
  const victim = new RawDistPeer(socket);
  socket.resume();
  const found = await findNode({ host: '127.0.0.1', port: epmdPort }, target);
  const goal = await RawDistPeer.dial(t, found?.entry.port ?? 0);
  const theirs = parseNamePacket((await victim.read()) ?? Buffer.alloc(0));
  const { nonce, ...bare } = theirs;
  goal.write(namePacket(erlang ? bare : { ...bare, nonce }));
  await goal.read();
  victim.write(Buffer.from('sok'));
  const challenge = parseChallengePacket((await goal.read()) ?? Buffer.alloc(0));
  victim.write(challengePacket({ ...challenge, name: wholeName }));
  const proof = await victim.read();
  if (!proof) return { proof, letIn: false };
  goal.write(proof);
  const end = await goal.read();
  return { proof, letIn: end !== undefined && !end.equals(ackPacket(Buffer.alloc(16))) };
}
