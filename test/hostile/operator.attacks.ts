// Attacks of a man in the middle between the operator and the nodes of its clusters.
import type { Attack } from './attack.ts';

export const attacks = {
  eavesdropper: {
    attack: 'An eavesdropper between operator and node replays requests, modified requests and the event websocket, also at other nodes',
    bound: 'HMAC-SHA256 of each request with the API token as key: valid once, for 60 s, at one address, for one method, path and body',
    outcome: '401, without any effect. The token is never sent. Previously every request and websocket contained it.',
  },
  downgrade: {
    attack: 'A man in the middle responds like a node of an older release, so that the operator sends the token itself',
    bound: 'the annotation of the pod in the API server decides (`mediarooms.dev/calls`), never a response',
    outcome: 'The operator keeps signing, and its status reports that the node does not support that.',
  },
} as const satisfies Record<string, Attack>;
