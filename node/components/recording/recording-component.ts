// Spec of a recording component: validates its options.
import type { z } from 'zod';
import { originsOf } from '../../../api/component/option.ts';
import { recordingDefaults, recordingOptionsSchema } from '../../../api/component/recording.ts';
import { type S3Target, shownPlace } from '../../../api/component/s3-target.ts';
import { invalidFieldError } from '../../../api/derive/validation-messages.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { ComponentSpec } from '../../rooms/interfaces.ts';
import { conflictMessages, type Uploads } from '../../storage/upload.ts';
import { createRecordingRunner } from './recording-runner.ts';
import type { Recordings } from './recordings.ts';

/** @throws ServiceError if an option is invalid */
export function createRecordingSpec(options: unknown, recordings: Recordings, uploads: Pick<Uploads, 'hasPlace'>): ComponentSpec {
  const parsed = recordingOptionsSchema.safeParse(options);
  if (!parsed.success) throw invalidFieldError(parsed.error, options, 'options', 'options');
  const { credentials, pathPrefix } = parsed.data;
  const place = placeOf(parsed.data, uploads.hasPlace());
  const origins = originsOf(parsed.data);
  const subscribeMode = parsed.data.subscribeMode ?? recordingDefaults.subscribeMode;
  return {
    type: 'recording',
    // S3 keys are never returned.
    properties: { subscribeMode, ...(pathPrefix && { pathPrefix }), ...(credentials && { credentials: shownPlace(credentials) }) },
    subscribeMode,
    origins,
    open: (host) =>
      createRecordingRunner({
        host,
        begin: () => {
          const { room, componentId, log } = host;
          const onUploadProblem = (uploadProblem: string | null) => host.showProperties({ uploadProblem });
          return recordings.create({ room, componentId, place, onUploadProblem, log });
        },
      }),
  };
}

/** The requested storage target; it replaces that of the node. */
function placeOf({ credentials, pathPrefix }: z.infer<typeof recordingOptionsSchema>, nodeHasOne: boolean): S3Target | undefined {
  if (credentials && nodeHasOne) throw new ServiceError('bad_request', conflictMessages.credentials, { field: 'options.credentials' });
  if (!pathPrefix) return credentials ?? undefined;
  if (nodeHasOne) throw new ServiceError('bad_request', conflictMessages.pathPrefix, { field: 'options.pathPrefix' });
  if (!credentials) throw new ServiceError('bad_request', 'pathPrefix requires credentials', { field: 'options.credentials' });
  if (credentials.pathPrefix !== undefined)
    throw new ServiceError('bad_request', 'pathPrefix is set twice', { field: 'options.pathPrefix' });
  return { ...credentials, pathPrefix };
}
