// Content service: files of HLS streams and recordings, with one interface for a single node and for a cluster.
import type { Readable } from 'node:stream';
import type { RecordingSummary } from '../../../api/recording.ts';

export type ContentKind = 'hls' | 'recording';

/** `folder`: id of the room (hls) or of the recording. */
export type ContentName = { kind: ContentKind; folder: string; file: string };

/** Parameters of a playlist request in addition to its file name (RFC 8216bis, section 6.2.5). */
export type PlaylistRequest = {
  /** Media sequence number, and part within it, that the playlist must contain: the response waits for it. */
  msn: number | undefined;
  part: number | undefined;
  /** True if old segments may be skipped (delta update). */
  skip: boolean;
  /** Token of the viewer; it is added to every URI of the playlist. */
  token: string | undefined;
  /** True if the response may be gzip-encoded. */
  gzip: boolean;
};

export type ContentRequest = ContentName & {
  /** Requests to `hls` only. */
  playlist?: PlaylistRequest | undefined;
  method: 'GET' | 'HEAD';
  /** The Range and If-Range headers (RFC 9110, sections 14.2 and 13.1.5), verbatim. */
  range: string | undefined;
  ifRange: string | undefined;
  /** IP address of the client. */
  client: string;
  /** Request of another node: answered with local content only. */
  forwarded: boolean;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
};

/**
 * The receiver must read `body` to its end or destroy it; `bytes` is a complete body. `cache-control` is the time that any cache may keep
 * the response.
 */
export type ContentResponse = { status: number; headers: Record<string, string>; body: Readable | undefined; bytes?: Buffer | undefined };

/** Streams that run on this node or ended recently. */
export interface LiveStreams {
  has(roomId: string): boolean;
  /** @throws ServiceError `not_found`, `bad_request` for parts too far ahead, `unavailable` if the part is not ready in time. */
  open(request: ContentRequest): Promise<ContentResponse>;
}

export interface ContentService {
  /** @throws ServiceError `not_found`, `bad_request` for a name outside the folder, `node_unreachable`, `unavailable`. */
  open(request: ContentRequest): Promise<ContentResponse>;
  /** Ids, sorted. `incomplete` lists nodes that did not respond. */
  listRecordings(): Promise<{ ids: string[]; incomplete: string[] }>;
  /** @throws ServiceError `not_found`, `conflict` while the recording is running, `node_unreachable`. */
  deleteRecording(id: string): Promise<void>;
}

export interface RecordingList {
  /** Newest first. `incomplete` lists nodes that did not respond, and `s3`. */
  describeRecordings(): Promise<{ recordings: RecordingSummary[]; incomplete: string[] }>;
}

/** Recordings in the S3 target shared by all nodes. All methods fail with ServiceError `unavailable` if it is unreachable. */
export interface RecordingArchive {
  /** @returns undefined if the file does not exist or no S3 target is configured */
  open(request: ContentRequest): Promise<ContentResponse | undefined>;
  /** Ids in any order. */
  list(): Promise<string[]>;
  describe(ids: readonly string[]): Promise<RecordingSummary[]>;
  /** @returns true if anything was deleted */
  remove(id: string): Promise<boolean>;
}
