// ICE fragment (RFC 8840): the credentials and candidates that a client sends after its offer.
import { offerRejected, parseLines } from './description.ts';
import { type IceCredentials, readIce } from './offer.ts';

/**
 * The credentials of the client. Its candidates are not used: the media worker is ICE lite and learns addresses from connectivity checks.
 * @throws ServiceError `offer_rejected`
 */
export function parseIceFragment(text: string): IceCredentials {
  const description = parseLines(text);
  if (description.media.length > 1) throw offerRejected('The fragment must contain the bundled section only (RFC 9725)');
  const [section = {}] = description.media;
  return readIce(section, description);
}
