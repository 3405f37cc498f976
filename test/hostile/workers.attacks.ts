// Effects of a guest that ends or stops a media worker anyway.
import type { Attack } from './attack.ts';

export const attacks = {
  hangingWorker: {
    attack: 'A media worker that hangs for any reason, without requests from its rooms',
    bound: 'probed every 2 s, killed after 6 s without a response',
    outcome:
      'Its rooms are reported (`RoomCrashed`) and it is replaced, so that they can be recreated; rooms of other workers continue. Previously 20 s passed undetected.',
  },
  killedAgain: {
    attack: 'A room whose guest ends its media worker again each time that the room is recreated',
    bound: 'two crashes within ten minutes; then a worker without other rooms',
    outcome: 'From the third crash on only that room is lost: the worker of all others survives.',
  },
} as const satisfies Record<string, Attack>;
