// Node content: content on the disk of this node, as the cluster uses it. Deleting a recording also cancels its upload.

import type { RecordingSummary } from '../../api/recording.ts';
import type { ContentKind, ContentRequest, ContentResponse, ContentService, RecordingList } from '../rooms/services/content.ts';
import type { LocalContent } from './local-content.ts';
import { recordingDetails } from './recording-details.ts';

export type NodeContentOptions = {
  /** Absolute path of the resources directory. */
  resources: string;
  local: LocalContent;
  uploads: { discard(id: string): void };
  /** Renders that use files of a recording. */
  renders: { discard(id: string): Promise<void> };
};

export class NodeContent implements ContentService, RecordingList {
  readonly #options: NodeContentOptions;

  constructor(options: NodeContentOptions) {
    this.#options = options;
  }

  has(kind: ContentKind, folder: string): Promise<boolean> {
    return this.#options.local.has(kind, folder);
  }

  open(request: ContentRequest): Promise<ContentResponse> {
    return this.#options.local.open(request);
  }

  listRecordings(): Promise<{ ids: string[]; incomplete: string[] }> {
    return this.#options.local.listRecordings();
  }

  async describeRecordings(): Promise<{ recordings: RecordingSummary[]; incomplete: string[] }> {
    const { ids, incomplete } = await this.#options.local.listRecordings();
    return { recordings: await recordingDetails(this.#options.resources, ids), incomplete };
  }

  async deleteRecording(id: string): Promise<void> {
    // Before the upload is cancelled, because a finished render would restart it. A recording in progress is not affected.
    await this.#options.renders.discard(id);
    // Before the files are deleted, because an upload without files counts as failed.
    this.#options.uploads.discard(id);
    await this.#options.local.deleteRecording(id);
  }
}
