// A serialized dialog (RFC 3261, section 12), so that another process can terminate an orphaned one.
import { z } from 'zod';

const uri = z.string().min(1).max(1200);
const tag = z.string().min(1).max(256);

export const dialogSchema = z.strictObject({
  callId: tag,
  localTag: tag,
  remoteTag: tag,
  localUri: uri,
  remoteUri: uri,
  remoteTarget: uri,
  routes: z.array(uri).max(16),
  sequence: z
    .int()
    .min(0)
    .max(2 ** 31),
});
export type Dialog = z.infer<typeof dialogSchema>;
