// One without the cookie who sits where a node should be: what dials it is carried on to another node, to be let in there by its proof.
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
  /** Whose place is taken, the part before the @ of a node on 127.0.0.1 or localhost. */
  name: string;
  /** The whole name that the node which dials calls. */
  wholeName: string;
  /** The part before the @ of the node to get into. */
  target: string;
  epmdPort: number;
  /** It says that it knows Erlang's proof only. */
  erlang: boolean;
};

/** What came of one node that dialled: the proof that it gave, if it gave one, and whether the other node let us in by it. */
export type Relayed = { proof: Buffer | undefined; letIn: boolean };

/** Takes the place and resolves with what came of each node that dials, in turn. */
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
