// What somebody without any token can do to a node.
import type { Attack } from './attack.ts';

export const attacks = {
  silentSockets: {
    attack: 'Websockets of one host that never say who they are, more and more of them',
    bound: '250 waiting sockets of one network (IPv4 address, IPv6 /64), 1,000 in all, of each kind; 10 s each',
    outcome: 'The oldest of the greediest network is cut (4408). Everybody else joins; before, 32 of 50 were refused.',
  },
  guessedTokens: {
    attack: 'Wrong API tokens from an address that others share',
    bound: '20 a minute of one network are answered, then 429',
    outcome: 'A right token of that address passes; before, 25 of 25 were refused.',
  },
  rebinding: {
    attack: 'A web page calls a node in development mode: from its own origin, under a name that leads to 127.0.0.1, or through a proxy',
    bound: 'a random token for each start; loopback `Host` without headers of proxies; no CORS',
    outcome: 'The page is not told the token and cannot read an answer; the console on the machine itself works.',
  },
  madeUpAddresses: {
    attack: 'A client behind a proxy writes addresses of its own into `X-Forwarded-For`',
    bound: '`SVC_TRUST_PROXY=1`: the last entry only, which the proxy wrote',
    outcome: 'All its requests count as its own (429); other clients are not limited by them.',
  },
} as const satisfies Record<string, Attack>;
