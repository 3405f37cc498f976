// Whether an hls component can be: its options, and whether this machine can carry one more.
import { ServiceError } from '../../errors.ts';
import type { PreparedComponent } from '../../rooms/ports.ts';
import { findFont } from '../av/font.ts';
import { HlsRunner } from './hls-runner.ts';
import { readOptions, shownOptions } from './options.ts';
import { multivariantName } from './playlist.ts';
import type { Streams } from './streams.ts';

/** @throws ServiceError with what is wrong */
export function prepareHls(options: unknown, roomId: string, streams: Streams): PreparedComponent {
  const read = readOptions(options, streams.hasServerS3);
  if (read.names && findFont() === undefined) {
    throw new ServiceError('bad_request', 'Option names needs the font DejaVu Sans, which is not installed on this node');
  }
  streams.assertCapacity(read);
  return {
    type: 'hls',
    properties: { ...shownOptions(read), playable: false, playlist: `/hls/${roomId}/${multivariantName}` },
    subscribeMode: read.subscribeMode,
    origins: read.origins,
    open: (host) => new HlsRunner({ host, streams, options: read }),
  };
}
