// What a guest can do to the processes of components that receive its media: recording, hls, sip.
import type { Attack } from './attack.ts';

export const attacks = {
  manyUnits: {
    attack: 'A guest in a room that is recorded sends 28,000 packets of H.264, each of 390 NAL units',
    bound: '4,096 units and 8,192 packets a picture',
    outcome: 'Its pictures are left out; the recorder goes on and loses no packet of the tracks of others. Before, the recording ended.',
  },
  noSize: {
    attack: 'A guest sends key pictures that say a size of nothing: one packet each',
    bound: 'sides of 1 to 16,383 pixels; a size of nothing is none',
    outcome: 'Nothing is recorded of the track; the recorder goes on. Before, four packets ended the recording.',
  },
  hugePictures: {
    attack: 'A guest publishes many tracks of 4096x2304 into a room that is streamed',
    bound: '64 tracks of video, and the pixels that fit into the memory of a composer (1 GiB, half of the container): about 44 million',
    outcome: 'The largest tracks of whoever has most are not shown and named in `ComponentTrackDropped`; everybody else is.',
  },
  breaksTheProcess: {
    attack: 'A track ends the process that works on it, whatever the flaw',
    bound: 'once for each track, twice for each peer',
    outcome: 'The process is started again without it; `ComponentTrackDropped` names it. The component has its restarts for other faults.',
  },
  curiousProcess: {
    attack: 'A process that decodes media of a guest is made to look around: secrets of the node, files of others, programs, threads',
    bound: "Node.js's permission model: its own programs and folder; an empty environment; niceness 5",
    outcome: 'Reading is refused (ERR_ACCESS_DENIED), also of `/proc/<pid>/environ`.',
  },
  swellingProcess: {
    attack: 'A process that works on media of a guest takes memory as fast as it can and says nothing any more',
    bound: 'its limit (1 GiB, at most half of the container), looked at by the node every 250 ms',
    outcome: 'It is killed and started again without the track that it most likely grew for; `ComponentTrackDropped` names it.',
  },
} as const satisfies Record<string, Attack>;
