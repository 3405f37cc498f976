// Worker warnings: logged with the room and peer of the packet, if the worker names the transport (patch 0020).
import type { WebRtcTransport } from 'mediasoup/types';
import type { Log } from '../../common/log.ts';
import { TokenBucket } from '../../common/token-bucket.ts';

const named = / \[transport:([\w-]{1,64})\]$/;
/** Warnings that every leaving client causes. */
const ordinary = /alert: close notify|resetting DTLS transport|DTLS remotely closed/;

/** Per transport a burst of five, then one per minute: a peer controls the number of warnings. */
const perSecond = 1 / 60;
const burst = 300;

/** mediasoup merges the output of all workers without naming them; transport ids are unique. */
const owners = new Map<string, { log: Log; bucket: TokenBucket }>();

/** `log`: log of the peer. */
export function tellWarningsOf(transport: WebRtcTransport, log: Log): void {
  if (transport.closed) return;
  owners.set(transport.id, { log, bucket: new TokenBucket(() => perSecond, burst) });
  transport.observer.once('close', () => owners.delete(transport.id));
}

/** Handles a log line of mediasoup. @returns true if it concerned a peer and was logged or suppressed */
export function warn(text: string): boolean {
  const [end, transportId] = named.exec(text) ?? [];
  const owner = owners.get(transportId ?? '');
  if (!owner || end === undefined || ordinary.test(text)) return false;
  if (owner.bucket.take())
    owner.log.warn({ warning: text.slice(0, -end.length).replace(/^\[pid:\d+\] /, '') }, 'media worker warning about peer');
  return true;
}
