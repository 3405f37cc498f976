// ICE servers: which of them relay media.
import type { IceServer } from '../generated/protocol.ts';

/** STUN servers do not relay. */
export function isRelay({ urls }: IceServer): boolean {
  return [urls].flat().some((url) => typeof url === 'string' && /^turns?:/.test(url));
}
