// Renders of one node, as the cluster uses them.
import type { RenderOptions, RenderView } from '../../../api/render.ts';
import type { RecordingArchive } from './content.ts';

export interface LocalRenderService {
  /**
   * Queues rendering. If it is queued or running, nothing changes.
   * @throws ServiceError `not_found`, `bad_request` for a stream, `conflict` while the recording is running, `unavailable` if the queue is
   * full or the disk cannot be written
   */
  render(recordingId: string, options: RenderOptions): Promise<RenderView>;
  /** @throws ServiceError `not_found` */
  getRender(recordingId: string): Promise<RenderView>;
  /** Removes partial output; an earlier rendered file stays. @throws ServiceError `not_found` */
  cancelRender(recordingId: string): Promise<void>;
  /** True if a recording that only S3 has is being rendered here, or failed here recently. Never fails. */
  holds(recordingId: string): Promise<boolean>;
}

/**
 * Recordings in the S3 target shared by all nodes, as rendering uses them. All methods fail with ServiceError `unavailable` if it is
 * unreachable.
 */
export interface RenderSource extends Pick<RecordingArchive, 'open'> {
  /** True if an S3 target is configured. */
  isThere(): boolean;
  /**
   * Uploads a local file next to the files of a recording under the same name, then updates the report.
   * @throws ServiceError also `not_found` if the report does not exist; errors of the file system
   */
  add(id: string, path: string, changeReport: (report: object) => object, signal: AbortSignal): Promise<void>;
}
