// WebVTT (W3C): cues of speech, and their text.
import type { Caption } from '../../rooms/interfaces.ts';

/** Times in milliseconds since 1970. */
export type Cue = { start: number; end: number; speaker: string | null; text: string };

export const vttHeader = 'WEBVTT\n';

/** Maximum of characters that are shown at once: two lines. */
const maxChunk = 84;
const maxSpeaker = 64;
/** Milliseconds to read a character, and the minimum of a cue. */
const perCharacter = 60;
const minDuration = 1500;
/** Maximum milliseconds of a cue. */
export const maxCueDuration = minDuration + maxChunk * perCharacter;

/** The cues of a text, one after the other from `start`, each with a part that can be read at once. */
export function cuesOf({ text, speaker }: Caption, start: number): Cue[] {
  const name = speaker === null ? '' : plain(speaker).slice(0, maxSpeaker).toWellFormed();
  let at = start;
  return chunksOf(plain(text)).map((chunk) => {
    const cue = { start: at, end: at + Math.max(minDuration, chunk.length * perCharacter), speaker: name || null, text: chunk };
    at = cue.end;
    return cue;
  });
}

/** A cue with its empty line. `id`: unique in the file. `zero`: time of 00:00:00.000, in milliseconds since 1970. */
export function cueBlock({ start, end, speaker, text }: Cue, id: number, zero: number): string {
  const named = speaker === null ? escaped(text) : `<v ${escaped(speaker)}>${escaped(`${speaker}: ${text}`)}`;
  return `\n${id}\n${timestamp(start - zero)} --> ${timestamp(end - zero)}\n${named}\n`;
}

/** `milliseconds` before 0 are 0. */
export function timestamp(milliseconds: number): string {
  const whole = Math.max(0, Math.round(milliseconds));
  const [hours, minutes, seconds] = [whole / 3_600_000, (whole / 60_000) % 60, (whole / 1000) % 60].map((value) =>
    String(Math.floor(value)).padStart(2, '0'),
  );
  return `${hours}:${minutes}:${seconds}.${String(whole % 1000).padStart(3, '0')}`;
}

/** One line: an empty line would end the cue. */
function plain(text: string): string {
  return text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .toWellFormed();
}

/** Without `>` no text contains the arrow of a cue. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Parts of whole words; a longer word is divided between characters. */
function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let chunk = '';
  for (const word of text.split(' ').flatMap(divided)) {
    if (chunk !== '' && chunk.length + 1 + word.length > maxChunk) {
      chunks.push(chunk);
      chunk = '';
    }
    chunk += chunk === '' ? word : ` ${word}`;
  }
  return chunk === '' ? chunks : [...chunks, chunk];
}

function divided(word: string): string[] {
  if (word.length <= maxChunk) return [word];
  // A character may have two units of UTF-16.
  return word.match(new RegExp(`.{1,${maxChunk / 2}}`, 'gsu')) ?? [];
}
