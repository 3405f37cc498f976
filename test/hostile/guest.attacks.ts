// Attacks of a guest with the token of one peer on a node and on other rooms.
import type { Attack } from './attack.ts';

export const attacks = {
  largeData: {
    attack: 'A guest sends 50 messages of 250 KB per second to a room of 100',
    bound: '`SVC_DATA_MESSAGE_MAX_BYTES` (16 KiB) per message; a message counts once more toward the rate limit for each 8 KiB',
    outcome: 'None is delivered (`too_large`, then 4429). Previously: 2 GB of memory, and the node blocked for 1.3 s.',
  },
  manyData: {
    attack: 'Guests send the largest allowed messages as fast as possible to a room of 100 in which some do not read',
    bound: '256 KiB per second and peer, 8 MiB per second delivered in one room; 1 MiB buffered for a slow receiver',
    outcome: 'Guests are rejected (`too_many_requests`). Slow receivers lose messages (`dataDropped`), but no session.',
  },
  memory: {
    attack: 'Guests send 36,000 requests of all types, valid, invalid and not JSON, in three attacks',
    bound: '150 MB above the previous memory, after any number, and 20 % a minute later: an idle node makes V8 release memory within 8 s',
    outcome: 'Other rooms are unaffected. 144 MB, 212 MB in the attack, 152 MB ten seconds later; previously 212 MB for two minutes.',
  },
  costlyRequests: {
    attack: 'A guest creates transports, requests stats and joins again, as fast as the message rate allows',
    bound: '50 units per second and peer in all its sessions, 200 at once; a transport costs 10, stats 10 and more',
    outcome: 'Its requests wait for each other; those of others do not.',
  },
  metadata: {
    attack: 'A guest changes its metadata as fast as possible',
    bound: 'one change per second is sent, the last one',
    outcome: 'Other peers, events and webhooks receive one per second.',
  },
  waiting: {
    attack: 'A guest that waits to be admitted requests media, tracks, messages and RPCs of its room, as fast as the message rate allows',
    bound: '64 held requests, 128 KiB together, per waiting peer',
    outcome: 'Further ones are rejected (`too_many_requests`). It receives nothing of the room, and other peers do not see it.',
  },
  webhooks: {
    attack: 'A guest causes endless events while the webhook receiver is down',
    bound: 'an eighth of `SVC_PENDING_MAX_BYTES` per room; beyond the total the room with the most pending events loses first',
    outcome: 'Events of its room become dead letters. Previously those of all rooms did.',
  },
  sctp: {
    attack: 'A guest without permission to publish and to send data uses SCTP toward the media worker',
    bound: 'no SCTP without the permission `data`, and only on request',
    outcome: 'Its transports have no SCTP, regardless of its request.',
  },
  livekit: {
    attack:
      'A guest with a LiveKit client sends invalid, large and too many messages, and offers that are no SDP, and joins again each time',
    bound:
      '1 MiB per message; `SVC_RATE_LIMIT_SOCKET` messages per second, a message counts once more for each 16 KiB; a join costs 10 of the 50 units per second and peer, an offer 5',
    outcome: 'Its socket is closed each time (4400, 4413, 4429, 1011), and its joins wait for each other; others are unaffected.',
  },
  componentOptions: {
    attack: 'A guest reads file names, phone numbers and storage from the components of the room',
    bound: 'peers see id, type, state and tracks',
    outcome: 'No option of a component reaches a peer.',
  },
} as const satisfies Record<string, Attack>;
