// Upload interface: uploads a folder to S3 while it is being written.

import type { S3Target } from '../../api/component/s3-target.ts';
import type { RoomIdentity } from '../rooms/interfaces.ts';

/** Errors for components with storage options on a node with S3 storage. */
export const conflictMessages = {
  credentials:
    'Conflicting S3 credentials supplied via environment variables and the REST API. Overrides on existing values are disallowed',
  pathPrefix: 'Conflicting S3 path prefix supplied via environment variables and the REST API. Overrides on existing values are disallowed',
} as const;

/** `id`: name of the folder in `<resources>/recordings`, and common prefix of its objects. */
export type UploadPlan = {
  id: string;
  kind: 'recording' | 'hls';
  room: RoomIdentity;
  componentId: string;
  /** Storage from the options of the component; undefined: the storage of the node. */
  place: S3Target | undefined;
  /** Reports an upload problem, as a message without keys: no progress for a while, or rejected by the storage. Null: resolved. */
  onProblem: (problem: string | null) => void;
};

/** Upload of one folder. Files are named as in the folder, without a path. No method fails or waits. */
export interface Upload {
  /** This file only grows: new data is uploaded at intervals, so that a lost node loses only seconds. */
  fileGrew(file: string): void;
  /** This file is complete (again): it is uploaded as a whole. */
  add(file: string): void;
  /** The folder was moved. */
  relocated(folder: string): void;
  /** All files are complete: missing ones are uploaded with retries, also after a restart of the node; then an event is sent. */
  finish(): void;
  /** Nothing is kept: uploaded objects are deleted. */
  discard(): void;
}

export interface Uploads {
  /** True if the node has S3 storage: then components must not configure another one. */
  hasPlace(): boolean;
  /** @returns undefined if nothing is to be uploaded. `folder`: absolute path. */
  begin(plan: UploadPlan, folder: string): Promise<Upload | undefined>;
  /** Ids of uploads whose process ended before finish(). */
  orphaned(kind: UploadPlan['kind']): Promise<string[]>;
  /**
   * Resumes an orphaned upload once its folder is complete. @returns undefined if it does not exist any more, or another process resumed it
   */
  resume(id: string): Promise<Upload | undefined>;
  /**
   * Uploads a new or changed file of a finished recording to the storage of its other files, without an event. The report contains the
   * state. Does nothing for recordings without upload. @throws Error of the disk
   */
  reopen(id: string): Promise<void>;
}
