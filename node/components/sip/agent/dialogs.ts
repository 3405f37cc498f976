// Dialogs (RFC 3261, section 12) as they outlive the process that had them: so that the next one can hang up what the last one left.
import { Core, type Session } from 'sip.js';
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

/** Requests that may have been sent since it was written down. */
const possibleRequests = 10_000;

/** @returns undefined where it is none that could be hung up later */
export function dialogOf({ dialog }: Session): Dialog | undefined {
  if (!(dialog instanceof Core.SessionDialog)) return undefined;
  const { callId, localTag, remoteTag, localURI, remoteURI, remoteTarget, routeSet, localSequenceNumber } = dialog;
  const found = dialogSchema.safeParse({
    ...{ callId, localTag, remoteTag, routes: routeSet, sequence: localSequenceNumber ?? 1 },
    localUri: localURI.toString(),
    remoteUri: remoteURI.toString(),
    remoteTarget: remoteTarget.toString(),
  });
  return found.success ? found.data : undefined;
}

/** Hangs up what an earlier process left. What is answered does not matter: that knows whether the call was still there. */
export function terminateOrphanedDialog(core: Core.UserAgentCore, dialog: Dialog): void {
  const [target, local, remote] = [dialog.remoteTarget, dialog.localUri, dialog.remoteUri].map((each) => Core.Grammar.URIParse(each));
  if (!target || !local || !remote) return;
  const message = core.makeOutgoingRequestMessage('BYE', target, local, remote, {
    callId: dialog.callId,
    cseq: dialog.sequence + possibleRequests,
    fromTag: dialog.localTag,
    toTag: dialog.remoteTag,
    routeSet: dialog.routes,
  });
  core.request(message);
}
