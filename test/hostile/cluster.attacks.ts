// Attacks of a hostile node in the network of a cluster.
import type { Attack } from './attack.ts';

export const attacks = {
  relay: {
    attack: 'A process without the cookie takes the address of a node that is dialed, and reuses the received cookie proof at another node',
    bound: 'a proof is valid for one connection and two names',
    outcome: 'The other node rejects it. Previously it was connected with all permissions of a node.',
  },
  downgrade: {
    attack: 'The same, claiming to support only the Erlang cookie proof, which is valid anywhere',
    bound: 'such nodes are dialed only with `SVC_DIST_ERLANG=true`',
    outcome: 'It receives no proof, and is not dialed for a minute.',
  },
  halfOpen: {
    attack: '300 connections to the distribution port that never complete the handshake',
    bound: '7 s per handshake; 64 concurrent ones per address, 256 in total, the oldest is closed first',
    outcome: 'Nodes can still connect, even from the same address. Previously 256 blocked all others.',
  },
  publicCookie: {
    attack: 'A connection with the public default cookie to a node that is reachable from outside',
    bound: 'this cookie is accepted on loopback only',
    outcome: 'The node does not start, with an error message.',
  },
  withoutCertificate: {
    attack: 'A process with the cookie, but without a certificate of the cluster CA, dials a node with `SVC_DIST_TLS=required`',
    bound: 'TLS with certificates of both sides, only of the CA in `SVC_DIST_TLS_CA`',
    outcome: 'It is disconnected before the handshake, both with plain TCP and with a self-signed certificate.',
  },
} as const satisfies Record<string, Attack>;
