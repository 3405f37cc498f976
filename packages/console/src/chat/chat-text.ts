// What is taken of a message that somebody sent: text of bounded length, without what no reader sees; and which parts of it are addresses.

/** Characters of one message, as the input counts them. */
export const maxMessageLength = 4_000;

export type TextPart = { text: string; href?: string };

/** Control characters but line ends and tabs (C0, C1), which no font shows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Marks that set the direction of what follows them: harmless in a block of its own, misleading inside of an address. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const address = /https?:\/\/[^\s<>"'`]+/g;
const lineBreaks = /(?:[^\S\n]*\n){3,}/g;

/** The text of a message; undefined where it is none. Anybody in the room may have sent anything. */
export function messageText(payload: unknown): string | undefined {
  const told = typeof payload === 'object' && payload !== null && 'text' in payload ? payload.text : payload;
  if (typeof told !== 'string') return undefined;
  const cut = told.length > maxMessageLength;
  const text = (cut ? told.slice(0, maxMessageLength) : told)
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(controls, '')
    .replace(lineBreaks, '\n\n')
    .trim();
  if (text === '') return undefined;
  return cut ? `${text}…` : text;
}

/** The text with its web addresses apart. */
export function textParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const match of text.matchAll(address)) {
    // What ends a sentence is no part of an address.
    const found = match[0].replace(/[.,;:!?)\]}]+$/, '');
    if (directions.test(found) || !URL.canParse(found)) continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index) });
    parts.push({ text: found, href: found });
    end = match.index + found.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end) });
  return parts;
}
