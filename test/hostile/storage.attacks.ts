// What a request can name that is not the caller's: folders of a shared bucket, addresses inside of the network; and relays of others.
import type { Attack } from './attack.ts';

export const attacks = {
  foreignFolders: {
    attack: 'With the API token: a folder of a shared S3 bucket that is no recording is listed, read, rendered or deleted',
    bound: 'ids `<room>-<start time>` with a marker object; folders of release 0.7.0 with a report that names them or pieces of ours',
    outcome: '404, and nothing is touched; before, `DELETE /recording/backups` removed all of it.',
  },
  privateAddresses: {
    attack: 'A request names a private address, in any spelling or behind a name: receiver of webhooks, S3 endpoint, SIP registrar',
    bound: '`SVC_ALLOW_PRIVATE_ADDRESSES=false` (image): checked as it is dialled, IPv4 inside IPv6 and metadata of clouds included',
    outcome: 'No connection is made. The dead letter, `uploadProblem` or `registrationError` says why.',
  },
  relays: {
    attack: 'A guest takes relays of TURN by the hundred, with new credentials again and again, or under the id of a peer in another room',
    bound: '16 relays of a peer of a room, 8,192 of a node; to the address of its media alone, over UDP',
    outcome: 'Refused with 486; other peers have theirs. Before, peers of the same id in different rooms shared the 16.',
  },
} as const satisfies Record<string, Attack>;
