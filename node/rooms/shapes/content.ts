// Files that rooms leave for viewers (HLS) and for later (recordings): the same interface for one node and for a cluster.
import type { Readable } from 'node:stream';
import { z } from 'zod';

export const contentKinds = ['hls', 'recording'] as const;
export type ContentKind = (typeof contentKinds)[number];

/** `folder`: id of the room (hls) or of the recording. */
export type ContentName = { kind: ContentKind; folder: string; file: string };

/** Recordings are named `<room>-<start time>`. */
export const recordingIdSchema = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/);

/** Id of what is made of a room from this time (ISO 8601) on. */
export function recordingIdOf(roomId: string, startTime: string): string {
  return `${roomId}-${startTime.replaceAll(/[-:.]/g, '')}`;
}

/** The room that a recording is of; undefined where its id is none of ours. */
export function roomOfRecording(recordingId: string): string | undefined {
  return /^(.+)-\d{8}T\d{9}Z$/.exec(recordingId)?.[1];
}

export const fileNameSchema = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$/);

/** What requests for playlists say beside their names (RFC 8216bis, section 6.2.5). */
export type PlaylistRequest = {
  /** Media sequence number, and part in it, from which on the playlist is wanted: the answer waits for it. */
  msn: number | undefined;
  part: number | undefined;
  /** Whether old segments may be left out (a delta update). */
  skip: boolean;
  /** The viewer's token, which every URI in it is to carry. */
  token: string | undefined;
  /** Whether it may come gzip-encoded. */
  gzip: boolean;
};

export type ContentRequest = ContentName & {
  /** Of requests to `hls`. */
  playlist?: PlaylistRequest | undefined;
  method: 'GET' | 'HEAD';
  /** The Range and If-Range headers (RFC 9110, sections 14.2 and 13.1.5) as they came. */
  range: string | undefined;
  ifRange: string | undefined;
  /** IP address of the client. */
  client: string;
  /** Another node asks: it is answered with what is here. */
  forwarded: boolean;
  /** The client is gone. */
  signal: AbortSignal;
};

/**
 * Whoever gets it reads the body to its end or destroys it; `bytes` is one that is there as a whole. `cache-control` says for how long it may
 * be kept by anybody at all.
 */
export type ContentResponse = { status: number; headers: Record<string, string>; body: Readable | undefined; bytes?: Buffer | undefined };

/** Streams that are made on this node, and those that ended a moment ago. */
export interface LiveStreams {
  has(roomId: string): boolean;
  /** @throws ServiceError `not_found`, `bad_request` for parts that are far ahead, `unavailable` where they do not come in time. */
  open(request: ContentRequest): Promise<ContentResponse>;
}

export interface ContentService {
  /** @throws ServiceError `not_found`, `bad_request` for a name that leads elsewhere, `node_unreachable`, `unavailable`. */
  open(request: ContentRequest): Promise<ContentResponse>;
  /** Ids, sorted. `incomplete` names nodes that did not answer. */
  listRecordings(): Promise<{ ids: string[]; incomplete: string[] }>;
  /** @throws ServiceError `not_found`, `conflict` while it is being made, `node_unreachable`. */
  deleteRecording(id: string): Promise<void>;
}
