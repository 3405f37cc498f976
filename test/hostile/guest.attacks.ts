// What a guest, who has the ordinary token of one peer, can do to a node and to rooms that are not his.
import type { Attack } from './attack.ts';

export const attacks = {
  largeData: {
    attack: 'A guest sends messages of 250 KB, 50 a second, to a room of 100',
    bound: '`SVC_DATA_MESSAGE_MAX_BYTES` (16 KiB) a message; a message counts once more towards the rate for each 8 KiB',
    outcome: 'None is delivered (`too_large`, then 4429). Before: 2 GB of memory, and the node stood still for 1.3 s.',
  },
  manyData: {
    attack: 'Guests send the largest messages that they may, as fast as they can, to a room of 100, of whom some do not read',
    bound: '256 KiB a second of one peer, 8 MiB a second delivered in one room; 1 MiB waits for a slow receiver',
    outcome: 'Guests are refused (`too_many_requests`). Who reads slowly loses messages (`dataDropped`), nobody a session.',
  },
  memory: {
    attack: 'Guests send 36,000 requests of every kind, right, wrong and no JSON at all, in three attacks',
    bound: '150 MB above what the node had before, however often, and 20 % a minute later: a calm node has V8 give memory back within 8 s',
    outcome: 'Answered or refused; others go on. 144 MB, 212 MB in the attack, 152 MB ten seconds later; before, 212 MB for two minutes.',
  },
  costlyRequests: {
    attack: 'A guest makes transports, asks for statistics and enters anew, as fast as the rate of messages allows',
    bound: '50 units a second of one peer in all its sessions, 200 at once; a transport costs 10, statistics 10 and more',
    outcome: 'His requests wait for each other; those of others do not.',
  },
  metadata: {
    attack: 'A guest changes his metadata as fast as he can',
    bound: 'one change a second is shown, the last',
    outcome: 'Others, events and webhooks have one a second.',
  },
  webhooks: {
    attack: 'A guest makes events without end while the receiver of webhooks is away',
    bound: 'an eighth of `SVC_PENDING_MAX_BYTES` for one room; beyond the whole the room that has most loses first',
    outcome: 'Events of his room become dead letters. Before: those of all rooms did.',
  },
  sctp: {
    attack: 'A guest who may neither publish nor send data speaks SCTP to the media worker',
    bound: 'no SCTP without the permission `data`, and none that was not asked for',
    outcome: 'His transports have none, whatever he asks for.',
  },
  componentOptions: {
    attack: 'A guest reads names of files, phone numbers and storage from the components of the room',
    bound: 'peers see id, kind, state and tracks',
    outcome: 'No option of a component reaches a peer.',
  },
} as const satisfies Record<string, Attack>;
