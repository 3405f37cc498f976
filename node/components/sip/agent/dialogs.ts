// Dialogs of SIP.js from and to their serialized form. Imported only by the process of a user agent, because SIP.js takes long to load.
import { Core, type Session } from 'sip.js';
import { type Dialog, dialogSchema } from './dialog.ts';

/** Upper bound of requests sent since the dialog was stored. */
const possibleRequests = 10_000;

/** @returns undefined if the dialog could not be terminated later */
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

/** Sends BYE for an orphaned dialog. The response does not matter, because the call may have ended. */
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
