// What workers warn of: told with the room and the peer whose packet led to it, where the worker says the transport (its patch 0020).
import type { WebRtcTransport } from 'mediasoup/types';
import type { Log } from '../../common/log.ts';
import { TokenBucket } from '../../common/token-bucket.ts';

const named = / \[transport:([\w-]{1,64})\]$/;
/** What every client leads to that leaves. */
const ordinary = /alert: close notify|resetting DTLS transport|DTLS remotely closed/;

/** Of each transport five at once, then one a minute: what it is told of depends on what its peer sends. */
const perSecond = 1 / 60;
const burst = 300;

/** mediasoup hands on what workers say for the whole process, without saying which: ids of transports are unique. */
const owners = new Map<string, { log: Log; bucket: TokenBucket }>();

/** `log`: that of the peer. */
export function tellWarningsOf(transport: WebRtcTransport, log: Log): void {
  if (transport.closed) return;
  owners.set(transport.id, { log, bucket: new TokenBucket(() => perSecond, burst) });
  transport.observer.once('close', () => owners.delete(transport.id));
}

/** To be given what mediasoup logs. @returns whether it was about a peer: then it is told, or left out as one too many */
export function warn(text: string): boolean {
  const [end, transportId] = named.exec(text) ?? [];
  const owner = owners.get(transportId ?? '');
  if (!owner || end === undefined || ordinary.test(text)) return false;
  if (owner.bucket.take())
    owner.log.warn({ warning: text.slice(0, -end.length).replace(/^\[pid:\d+\] /, '') }, 'media worker warns of what a peer sent');
  return true;
}
