// What a stranger in the network of a cluster can do to its nodes.
import type { Attack } from './attack.ts';

export const attacks = {
  relay: {
    attack: 'One without the cookie takes the place of a node that is dialled, and shows the proof that it is given to another node',
    bound: 'a proof is good for one connection and two names',
    outcome: 'The other node refuses it; before, it was let in and could do what a node can.',
  },
  downgrade: {
    attack: 'The same, saying that it knows only the proof of Erlang, which is good anywhere',
    bound: 'such nodes are dialled with `SVC_DIST_ERLANG=true` only',
    outcome: 'It is given no proof, and is not dialled for a minute.',
  },
  halfOpen: {
    attack: '300 connections to the distribution port of which none ends its handshake',
    bound: '7 s for a handshake; 64 at once for an address, 256 for all, the oldest goes first',
    outcome: 'Nodes connect meanwhile, from the same address too; before, 256 kept all others out.',
  },
  publicCookie: {
    attack: 'A node that is reached from outside is joined with the cookie that everybody knows',
    bound: 'that cookie is taken on loopback only',
    outcome: 'The node does not start, with one sentence.',
  },
  withoutCertificate: {
    attack: 'One who knows the cookie, but has no certificate of the authority of the cluster, dials a node with `SVC_DIST_TLS=required`',
    bound: 'TLS with certificates of both sides, of no other authority than `SVC_DIST_TLS_CA`',
    outcome: 'It is cut before it can say its name, plain or with a certificate of its own making.',
  },
} as const satisfies Record<string, Attack>;
