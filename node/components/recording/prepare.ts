// Whether a recording component can be: its options.
import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import type { PreparedComponent } from '../../rooms/ports.ts';
import { issueSentence } from '../../sentences.ts';
import { RecordingRunner } from './recording-runner.ts';
import type { Recordings } from './recordings.ts';

const optionsSchema = z.strictObject({
  subscribeMode: z.enum(['auto', 'manual'], { error: 'to be auto or manual' }).nullable().optional(),
});

/** @throws ServiceError with what is wrong with the options */
export function prepareRecording(options: unknown, roomId: string, recordings: Recordings): PreparedComponent {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) throw new ServiceError('invalid_field', issueSentence(parsed.error, options, 'options'));
  const subscribeMode = parsed.data.subscribeMode ?? 'auto';
  return {
    type: 'recording',
    properties: { subscribeMode },
    subscribeMode,
    open: (host) => new RecordingRunner({ host, begin: () => recordings.create(roomId, host.log) }),
  };
}
