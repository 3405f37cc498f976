// What is lost where a guest ends or stops a media worker all the same.
import type { Attack } from './attack.ts';

export const attacks = {
  hangingWorker: {
    attack: 'A media worker that hangs, by whatever means: nobody who is in a call asks it anything',
    bound: 'asked every 2 s, killed after 6 s without any answer',
    outcome:
      'Its rooms are told (`RoomCrashed`) and it is replaced, so that they can be made again; rooms of other workers go on. Before, 20 s passed unseen.',
  },
  killedAgain: {
    attack: 'A room whose guest ends its media worker again and again, each time that the room is made again',
    bound: 'two deaths within ten minutes; then a worker that no other room is on',
    outcome: 'From the third death on only that room is lost: the worker of all others lives.',
  },
} as const satisfies Record<string, Attack>;
