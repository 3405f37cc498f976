// Chat text: sanitizes received messages to visible text of bounded length, and finds the URLs in it.

/** Maximum characters of one message, as the input counts them. */
export const maxMessageLength = 4_000;

export type TextPart = { text: string; href?: string };

/** Control characters (C0, C1) except line breaks and tabs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are to be removed
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Marks that change the text direction: harmless in an isolated block, misleading inside a URL. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const address = /https?:\/\/[^\s<>"'`]+/g;
const lineBreaks = /(?:[^\S\n]*\n){3,}/g;

/** The text of a message; undefined if the payload is not one. Payloads are untrusted. */
export function messageText(payload: unknown): string | undefined {
  const received = typeof payload === 'object' && payload !== null && 'text' in payload ? payload.text : payload;
  if (typeof received !== 'string') return undefined;
  const cut = received.length > maxMessageLength;
  const text = (cut ? received.slice(0, maxMessageLength) : received)
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(controls, '')
    .replace(lineBreaks, '\n\n')
    .trim();
  if (text === '') return undefined;
  return cut ? `${text}…` : text;
}

/** Splits the text into plain parts and URLs. */
export function textParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const match of text.matchAll(address)) {
    // Trailing punctuation is not part of a URL.
    const found = match[0].replace(/[.,;:!?)\]}]+$/, '');
    if (directions.test(found) || !URL.canParse(found)) continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index) });
    parts.push({ text: found, href: found });
    end = match.index + found.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end) });
  return parts;
}
