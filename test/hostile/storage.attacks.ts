// Attacks with names of foreign resources: folders of a shared bucket, internal addresses, and TURN relays of other peers or after the end.
import type { Attack } from './attack.ts';

export const attacks = {
  foreignFolders: {
    attack: 'With the API token: a folder of a shared S3 bucket that is no recording is listed, read, rendered or deleted',
    bound: 'ids `<room>-<start time>` with a marker object; folders of release 0.7.0 with a report that names them or with our chunks',
    outcome: '404 without any effect. Previously `DELETE /recording/backups` deleted all of it.',
  },
  privateAddresses: {
    attack: 'A request names a private address in any spelling or by a host name: webhook receiver, S3 endpoint, SIP registrar',
    bound: '`SVC_ALLOW_PRIVATE_ADDRESSES=false` (image): checked when dialed, including IPv4 in IPv6 and cloud metadata addresses',
    outcome: 'No connection is opened. The dead letter, `uploadProblem` or `registrationError` contains the reason.',
  },
  relays: {
    attack: 'A guest allocates hundreds of TURN relays, with new credentials each, or under the id of a peer in another room',
    bound: '16 relays per peer of a room, 8,192 per node; only to its media address, over UDP',
    outcome: 'Rejected with 486; other peers keep theirs. Previously peers with the same id in different rooms shared the 16.',
  },
  leftRelays: {
    attack: 'A guest that was removed keeps its TURN relays, and opens new ones with its credentials',
    bound: 'credentials expire after 10 to 15 minutes; once a minute, relays of users that are no peers are cancelled',
    outcome: 'Its relays end, then new ones are rejected with 401; other peers keep theirs. Previously both lasted for a day.',
  },
  turnConnections: {
    attack: 'Connections of one network to TURN over TLS, through a proxy that sends PROXY protocol headers',
    bound: '512 per IPv4 address or /64 of IPv6, 8,192 in all; 10 s for the header',
    outcome: 'Further ones are closed; other networks connect. Previously all clients had the address of the proxy, without a limit.',
  },
} as const satisfies Record<string, Attack>;
