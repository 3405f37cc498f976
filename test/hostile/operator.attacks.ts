// What somebody between the operator and the nodes of its clusters can do, who reads and changes what they say.
import type { Attack } from './attack.ts';

export const attacks = {
  eavesdropper: {
    attack: 'An eavesdropper between operator and node repeats what he read: requests, changed ones, the event socket, also at other nodes',
    bound: 'HMAC-SHA256 of each call with the API token as key: good once, for 60 s, at one address, for one method, path and body',
    outcome: '401, and nothing happens. The token does not cross the wire; before, each request and each socket held it.',
  },
  downgrade: {
    attack: 'Somebody between operator and node answers as a node of an older release, to be sent the token itself',
    bound: 'what the API server says of the pod decides (`mediarooms.dev/calls`), never an answer',
    outcome: 'The operator goes on signing, and its status says that the node does not know that.',
  },
} as const satisfies Record<string, Attack>;
