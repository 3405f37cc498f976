// Uploads of a node to the S3 storage of its settings, and the recordings that exist only there.
import { nodeMetrics } from '../../../api/metrics.ts';
import type { FeatureContext } from '../../common/feature-context.ts';
import type { ReloadableConfigView } from '../../config/reloadable-config.ts';
import { s3TargetOf } from '../s3/s3-target.ts';
import { S3Archive } from '../s3-archive.ts';
import { S3Uploads, type S3UploadsOptions } from './s3-uploads.ts';

/** Milliseconds for progressing uploads after the drain timeout. */
const uploadTimeoutMs = 1_000;

export type UploadsContext = Pick<FeatureContext, 'log' | 'metrics' | 'closers'> &
  Pick<S3UploadsOptions, 'resources' | 'node' | 'onEvent'> & {
    hot: Pick<ReloadableConfigView, 'current'>;
  };

/** Call `uploads.start()` when the node listens. */
export function createUploads({ hot, metrics, closers, ...options }: UploadsContext): { uploads: S3Uploads; archive: S3Archive } {
  const place = () => s3TargetOf(hot.current.s3);
  const uploads = new S3Uploads({ ...options, place, allowPrivate: () => hot.current.allowPrivateAddresses });
  closers.add('uploads', (ending) => uploads.close(ending.left(ending.drainTimeout) + ending.timeout(uploadTimeoutMs)));
  metrics.collect(nodeMetrics.uploads, () => uploads.counters());
  return { uploads, archive: new S3Archive(place) };
}
