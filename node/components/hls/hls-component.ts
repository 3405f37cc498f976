// Spec of an hls component: validates its options and checks the CPU budget.
import { ServiceError } from '../../../api/errors.ts';
import type { VideoCodec } from '../../../api/room.ts';
import type { ComponentSpec } from '../../rooms/interfaces.ts';
import { findFont } from '../process/font.ts';
import { createHlsRunner } from './hls-runner.ts';
import type { HlsStreams } from './hls-streams.ts';
import { parseOptions, publicOptions } from './options.ts';
import { multivariantName } from './playlist/playlist.ts';

type HlsRoom = { roomId: string; videoCodec: VideoCodec | null };

/** @throws ServiceError if an option is invalid */
export function createHlsSpec(options: unknown, { roomId, videoCodec }: HlsRoom, streams: HlsStreams): ComponentSpec {
  const read = parseOptions(options, streams.hasServerS3);
  if (read.names && findFont() === undefined) {
    throw new ServiceError('bad_request', 'Option names requires the font DejaVu Sans, which is not installed on this node', {
      field: 'options.names',
    });
  }
  streams.assertCapacity(read);
  return {
    type: 'hls',
    properties: { ...publicOptions(read), playable: false, playlist: `/hls/${roomId}/${multivariantName}` },
    subscribeMode: read.subscribeMode,
    origins: read.origins,
    open: (host) => createHlsRunner({ host, streams, options: read, forwardsH264: videoCodec === null || videoCodec === 'h264' }),
  };
}
