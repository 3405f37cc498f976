// An av process of tests: it does as it is told, good and bad.
import { z } from 'zod';
import { linkToParent } from '../../node/components/av/parent-link.ts';

const commandSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('echo'), text: z.string() }),
  z.strictObject({ type: z.literal('hang') }),
  z.strictObject({ type: z.literal('throw') }),
  z.strictObject({ type: z.literal('nonsense') }),
  z.strictObject({ type: z.literal('allocate'), bytes: z.number() }),
  z.strictObject({ type: z.literal('environment') }),
]);
export type AvChildCommand = z.infer<typeof commandSchema>;

const held: Buffer[] = [];
const { send } = linkToParent<typeof commandSchema, { text: string }>(commandSchema, (command) => {
  if (command.type === 'echo') send({ text: command.text });
  else if (command.type === 'throw') throw new Error('as it was told');
  else if (command.type === 'nonsense') process.send?.({ what: 1 });
  else if (command.type === 'allocate') held.push(Buffer.alloc(command.bytes, 1));
  else if (command.type === 'environment') send({ text: Object.keys(process.env).join(' ') });
  else for (;;);
});
