// Publish request: a track as its peer publishes it.
import type { Metadata } from '../../../api/json.ts';
import type { Kind } from '../../../api/track.ts';
import type { WireObject } from '../interfaces.ts';
import type { BackupOptions } from '../track.ts';

export type PublishRequest = {
  transportId: string;
  /** If the client knows the id before the track is published. */
  trackId?: string | undefined;
  /** Stable name of the track across republishing. */
  key?: string | undefined;
  kind: Kind;
  rtpParameters: WireObject;
  metadata?: Metadata | null | undefined;
  paused: boolean;
  /** End to end: the node cannot decode it. */
  encrypted?: boolean | undefined;
  /** If the client can send the track in another codec too. */
  backup?: BackupOptions | undefined;
};
export type PublishBackupRequest = Pick<PublishRequest, 'transportId' | 'rtpParameters'> & { trackId: string };
