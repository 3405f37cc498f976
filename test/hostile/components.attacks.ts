// Attacks of a guest on the component processes that receive its media: recording, hls, sip.
import type { Attack } from './attack.ts';

export const attacks = {
  manyUnits: {
    attack: 'A guest in a recorded room sends 28,000 packets of H.264 with 390 NAL units each',
    bound: '4,096 units and 8,192 packets per frame',
    outcome: 'The frames are dropped; the recorder continues and loses no packet of other tracks. Previously the recording ended.',
  },
  noSize: {
    attack: 'A guest sends key frames with a size of zero, one packet each',
    bound: 'width and height from 1 to 16,383 pixels; other sizes are ignored',
    outcome: 'The track is not recorded; the recorder continues. Previously four packets ended the recording.',
  },
  hugeFrames: {
    attack: 'A guest publishes many tracks of 4096x2304 into a streamed room',
    bound: '64 tracks of video, and the pixels that fit into the memory of a composer (1 GiB, half of the container): about 44 million',
    outcome: 'The largest tracks of the peer with most pixels are hidden and named in `ComponentTrackDropped`; all others are shown.',
  },
  breaksTheProcess: {
    attack: 'A track crashes the component process, by any flaw',
    bound: 'once per track, twice per peer',
    outcome: 'The process restarts without it; `ComponentTrackDropped` names it. The restart budget is kept for other faults.',
  },
  curiousProcess: {
    attack: 'A compromised process that decodes media of a guest accesses secrets of the node, foreign files, programs and threads',
    bound: 'permission model of Node.js: only its program and folder; an empty environment; niceness 5',
    outcome: 'Reading is rejected (ERR_ACCESS_DENIED), also of `/proc/<pid>/environ`.',
  },
  swellingProcess: {
    attack: 'A component process with media of a guest allocates memory as fast as possible and stops responding',
    bound: 'its limit (1 GiB, at most half of the container), checked by the node every 250 ms',
    outcome: 'It is killed and restarted without the track that most likely caused it; `ComponentTrackDropped` names it.',
  },
} as const satisfies Record<string, Attack>;
