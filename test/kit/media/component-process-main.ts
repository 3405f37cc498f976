// Component process for tests: executes commands, including failures.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { connectToParent } from '../../../node/components/process/child-ipc.ts';
import { markTrack } from '../../../node/components/process/track-marks.ts';

const commandSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('echo'), text: z.string() }),
  z.strictObject({ type: z.literal('hang') }),
  /** Marks the track as in progress. */
  z.strictObject({ type: z.literal('mark'), track: z.number() }),
  /** Marks the track, and ends the mark. */
  z.strictObject({ type: z.literal('work'), track: z.number() }),
  z.strictObject({ type: z.literal('abort') }),
  z.strictObject({ type: z.literal('read'), path: z.string() }),
  /** Allocates memory without sending reports. */
  z.strictObject({ type: z.literal('swell') }),
  z.strictObject({ type: z.literal('throw') }),
  z.strictObject({ type: z.literal('nonsense') }),
  z.strictObject({ type: z.literal('allocate'), bytes: z.number() }),
  z.strictObject({ type: z.literal('environment') }),
]);
export type AvChildCommand = z.infer<typeof commandSchema>;

const held: Buffer[] = [];
const { send } = connectToParent<typeof commandSchema, { text: string }>(commandSchema, (command) => {
  if (command.type === 'echo') send({ text: command.text });
  else if (command.type === 'throw') throw new Error('a requested error');
  else if (command.type === 'nonsense') process.send?.({ what: 1 });
  else if (command.type === 'allocate') held.push(Buffer.alloc(command.bytes, 1));
  else if (command.type === 'abort') process.abort();
  else if (command.type === 'swell') for (;;) held.push(Buffer.alloc(1024 * 1024, 1));
  else if (command.type === 'read') send({ text: attempt(() => readFileSync(command.path, 'latin1')) });
  else if (command.type === 'mark') {
    markTrack(command.track);
    send({ text: 'marked' });
  } else if (command.type === 'work') {
    markTrack(command.track)();
    send({ text: 'worked' });
  } else if (command.type === 'environment') send({ text: Object.keys(process.env).join(' ') });
  // Blocks the only thread, without a load on the computer.
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});

/** The result, or the error code. */
function attempt(read: () => string): string {
  try {
    return read();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}
