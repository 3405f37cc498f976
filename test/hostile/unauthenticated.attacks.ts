// Attacks of clients without any token on a node.
import type { Attack } from './attack.ts';

export const attacks = {
  silentSockets: {
    attack: 'Websockets of one host that never authenticate, in growing number',
    bound: '250 pending sockets per network (IPv4 address, IPv6 /64), 1,000 in total, of each type; 10 s each',
    outcome: 'The oldest of the network with the most is closed (4408). Everybody else can join. Previously 32 of 50 were rejected.',
  },
  guessedTokens: {
    attack: 'Wrong API tokens from a shared address',
    bound: '20 per minute and network are answered, then 429',
    outcome: 'A valid token from that address is accepted. Previously 25 of 25 were rejected.',
  },
  forgedAccessTokens: {
    attack:
      'Access tokens without a signature, of another or a removed key, with a public key as secret, changed, expired, too long valid, or too large',
    bound: 'one algorithm per key; `SVC_ACCESS_TOKEN_MAX_TTL`; 8 KiB for the first message',
    outcome:
      'Each is rejected with one message (4401, or 4413 if it is too large; 401 for an encoder). No room and no peer is created, and valid tokens are accepted.',
  },
  rebinding: {
    attack: 'A web page sends requests to a node in development mode: from its origin, by a name for 127.0.0.1, or through a proxy',
    bound: 'a random token per start; loopback `Host` without proxy headers; no CORS',
    outcome: 'The page does not receive the token and cannot read a response; the console on the same host works.',
  },
  madeUpAddresses: {
    attack: 'A client behind a proxy adds addresses to `X-Forwarded-For`',
    bound: '`SVC_TRUST_PROXY=1`: only the last entry, added by the proxy',
    outcome: 'All its requests are counted for it (429); other clients are not limited by them.',
  },
  claimedAddresses: {
    attack: 'A pod that reaches a node past its Ingress claims client addresses in `X-Forwarded-For`',
    bound: 'networks of proxies in `SVC_TRUST_PROXY` (`trustedProxies` of a MediaCluster): other senders are not believed',
    outcome: 'All its requests are counted for its own address (429); clients of the named proxy are counted by their own.',
  },
} as const satisfies Record<string, Attack>;
