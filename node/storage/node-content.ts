// What is on this node's disk, as the cluster uses it: what is removed here is not uploaded any more.
import type { ContentKind, ContentRequest, ContentResponse, ContentService } from '../rooms/shapes/content.ts';
import type { RecordingList, RecordingSummary } from '../rooms/shapes/recordings.ts';
import type { LocalContent } from './local-content.ts';
import { recordingDetails } from './recording-details.ts';

export type NodeContentOptions = {
  /** Absolute path of the resources directory. */
  resources: string;
  local: LocalContent;
  uploads: { discard(id: string): void };
  /** What works on files of a recording. */
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
    // Before the upload: what is rendered would go up. It leaves alone what is being made.
    await this.#options.renders.discard(id);
    // Before the files: an upload whose files are gone would be one that failed.
    this.#options.uploads.discard(id);
    await this.#options.local.deleteRecording(id);
  }
}
