// What goes to S3: the place, and one folder on its way there while it is still being written.

import type { RoomIdentity } from '../rooms/interfaces.ts';
import type { S3Target } from '../rooms/shapes/component-options.ts';

/** What a component is told that brings a storage, or a prefix, to a node that has a storage. */
export const conflictMessages = {
  credentials:
    'Conflicting S3 credentials supplied via environment variables and the REST API. Overrides on existing values are disallowed',
  pathPrefix: 'Conflicting S3 path prefix supplied via environment variables and the REST API. Overrides on existing values are disallowed',
} as const;

/** `id`: name of the folder right in `<resources>/recordings`, and of the objects' common prefix. */
export type UploadPlan = {
  id: string;
  kind: 'recording' | 'hls';
  room: RoomIdentity;
  componentId: string;
  /** Of the component's own options; without it the node's own storage is meant. */
  place: S3Target | undefined;
  /** Nothing has gone up for a while, or the storage refuses it: why, in a sentence without keys. Null: it goes again. */
  onProblem: (problem: string | null) => void;
};

/** A folder on its way to S3. Its files are named as in the folder, without a path. Nothing here fails or waits. */
export interface Upload {
  /** This file grows at its end only: what it has goes up from time to time, so that a lost node loses seconds. */
  fileGrew(file: string): void;
  /** This file is as it is to be (or is again, after a change): it goes up as a whole. */
  add(file: string): void;
  /** Where the folder is from now on. */
  relocated(folder: string): void;
  /** All files are as they are to be: what is missing goes up, again and again, also after a restart of the node; then an event says so. */
  finish(): void;
  /** Nothing is to be kept: what is up is removed. */
  discard(): void;
}

export interface Uploads {
  /** Whether the node has a storage of its own: then components may not bring theirs. */
  hasPlace(): boolean;
  /** @returns undefined where nothing is to be uploaded. `folder`: absolute path. */
  begin(plan: UploadPlan, folder: string): Promise<Upload | undefined>;
  /** Ids of uploads whose process ended before finish(). */
  orphaned(kind: UploadPlan['kind']): Promise<string[]>;
  /** Takes up one of them, once its folder is as it is to be. @returns undefined where there is none any more, or another process was faster */
  resume(id: string): Promise<Upload | undefined>;
  /**
   * A recording that was to be uploaded, and is as it is to be, has one more file, or another: it goes up to where the others are, without an
   * event. Its report says how that stands. Nothing for one that was not to be uploaded. @throws Error where the disk refuses
   */
  reopen(id: string): Promise<void>;
}
