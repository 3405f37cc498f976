// HLS conformance (RFC 8216bis) of live media playlists and their updates: a third-party validator, and additional checks.
import assert from 'node:assert/strict';
import { parse, setOptions, types } from 'hls-parser';

setOptions({ strictMode: true });

type Line = { tag: string; value: string };
export type CheckedSegment = { number: number; uri: string; duration: number; discontinuity: number; init: string; time: number };
export type CheckedPart = { uri: string; duration: number; independent: boolean };
export type CheckedPlaylist = {
  target: number;
  partTarget: number | undefined;
  mediaSequence: number;
  discontinuitySequence: number;
  skipped: number;
  segments: CheckedSegment[];
  /** By segment number, including the incomplete segment. */
  parts: Map<number, CheckedPart[]>;
  hint: string | undefined;
  ended: boolean;
};

/** `captions`: of WebVTT, which has no init segments. @throws AssertionError if a rule is violated */
export function checkPlaylist(text: string, { captions = false } = {}): CheckedPlaylist {
  if (!text.includes('#EXT-X-SKIP')) assert.ok(parse(text) instanceof types.MediaPlaylist);
  const lines = text.trimEnd().split('\n');
  assert.equal(lines[0], '#EXTM3U');
  const read = (line: string): Line => {
    const [tag = '', ...value] = line.split(':');
    return { tag, value: value.join(':') };
  };
  const one = (tag: string) => lines.map(read).find((line) => line.tag === tag)?.value;
  const control = one('#EXT-X-SERVER-CONTROL') ?? '';
  const partInf = one('#EXT-X-PART-INF');
  const playlist: CheckedPlaylist = {
    target: Number(one('#EXT-X-TARGETDURATION')),
    partTarget: partInf === undefined ? undefined : attribute(partInf, 'PART-TARGET'),
    mediaSequence: Number(one('#EXT-X-MEDIA-SEQUENCE')),
    discontinuitySequence: Number(one('#EXT-X-DISCONTINUITY-SEQUENCE') ?? 0),
    skipped: Number(/SKIPPED-SEGMENTS=(\d+)/.exec(one('#EXT-X-SKIP') ?? '')?.[1] ?? 0),
    segments: [],
    parts: new Map(),
    hint: undefined,
    ended: lines.includes('#EXT-X-ENDLIST'),
  };
  assert.ok(Number.isInteger(playlist.target) && playlist.target > 0);
  if (playlist.partTarget !== undefined) {
    assert.match(control, /CAN-BLOCK-RELOAD=YES/);
    // A smaller value risks stalls (section 4.4.3.8), a larger one only adds latency.
    assert.ok(Math.abs((attribute(control, 'PART-HOLD-BACK') ?? 0) - 3 * playlist.partTarget) < 1e-9);
    assert.ok((attribute(control, 'CAN-SKIP-UNTIL') ?? 0) >= 6 * playlist.target);
  }
  const holdBack = attribute(control, 'HOLD-BACK', true);
  if (holdBack !== undefined) assert.ok(holdBack >= 3 * playlist.target);
  readBody(lines.map(read), playlist);
  if (!captions) assert.ok(playlist.segments.every(({ init }) => init !== '' || playlist.skipped > 0));
  for (const { duration, uri } of playlist.segments) assert.ok(Math.round(duration) <= playlist.target, `${uri} lasts ${duration} s`);
  for (const [number, parts] of playlist.parts) checkParts(playlist, number, parts);
  return playlist;
}

function readBody(lines: readonly Line[], playlist: CheckedPlaylist): void {
  let number = playlist.mediaSequence + playlist.skipped;
  let discontinuity = playlist.discontinuitySequence;
  let init = '';
  let time = Number.NaN;
  let duration: number | undefined;
  let changed = false;
  for (const { tag, value } of lines) {
    if (tag === '#EXT-X-DISCONTINUITY') {
      discontinuity += 1;
      changed = true;
    } else if (tag === '#EXT-X-MAP') {
      init = /URI="([^"]+)"/.exec(value)?.[1] ?? '';
      changed = false;
    } else if (tag === '#EXT-X-PROGRAM-DATE-TIME') time = Date.parse(value);
    else if (tag === '#EXTINF') duration = Number.parseFloat(value);
    else if (tag === '#EXT-X-PART') {
      const parts = playlist.parts.get(number) ?? [];
      parts.push({
        uri: /URI="([^"]+)"/.exec(value)?.[1] ?? '',
        duration: attribute(value, 'DURATION') ?? 0,
        independent: value.includes('INDEPENDENT=YES'),
      });
      playlist.parts.set(number, parts);
    } else if (tag === '#EXT-X-PRELOAD-HINT') playlist.hint = /URI="([^"]+)"/.exec(value)?.[1];
    else if (!tag.startsWith('#') && tag !== '') {
      assert.ok(duration !== undefined, `${tag} has no EXTINF`);
      assert.equal(changed, false, `${tag} has the EXT-X-MAP of another process`);
      playlist.segments.push({ number, uri: tag, duration, discontinuity, init, time });
      number += 1;
      duration = undefined;
    }
  }
}

function checkParts({ segments, partTarget = 0, target }: CheckedPlaylist, number: number, parts: readonly CheckedPart[]): void {
  const whole = segments.find((segment) => segment.number === number);
  const behind = segments.filter((segment) => segment.number > number).reduce((sum, { duration }) => sum + duration, 0);
  // Parts of old segments only waste bytes (section 4.4.4.9).
  assert.ok(behind <= 3 * target, `parts of ${number} are too old`);
  for (const [index, { duration, uri }] of parts.entries()) {
    assert.ok(duration <= partTarget + 1e-9, `${uri} lasts ${duration} s, more than ${partTarget}`);
    const isLast = whole !== undefined && index === parts.length - 1;
    if (!isLast)
      assert.ok(duration >= 0.85 * partTarget || (whole === undefined && index === parts.length - 1), `${uri} lasts ${duration} s`);
  }
  assert.equal(parts[0]?.independent, true, `segment ${number} does not begin with a key frame`);
  if (!whole) return;
  const sum = parts.reduce((total, { duration }) => total + duration, 0);
  assert.ok(Math.abs(sum - whole.duration) < 0.001, `the parts of ${number} last ${sum} s, the segment ${whole.duration} s`);
}

/** Allowed changes from one playlist to a later one (section 6.2.1). */
export function checkUpdate(before: CheckedPlaylist, after: CheckedPlaylist): void {
  assert.equal(after.target, before.target);
  assert.equal(after.partTarget, before.partTarget);
  assert.ok(after.mediaSequence >= before.mediaSequence);
  assert.ok(after.discontinuitySequence >= before.discontinuitySequence);
  assert.ok(!before.ended || after.ended);
  const known = new Map(after.segments.map((segment) => [segment.number, segment]));
  for (const segment of before.segments) {
    const same = known.get(segment.number);
    if (!same)
      assert.ok(segment.number < after.mediaSequence + after.skipped || after.segments.length === 0, `${segment.uri} went out of turn`);
    else if (before.skipped + after.skipped === 0) assert.deepEqual(same, segment);
    else assert.deepEqual([same.uri, same.duration, same.time], [segment.uri, segment.duration, segment.time]);
  }
  for (const [number, parts] of before.parts) {
    const later = after.parts.get(number);
    if (later) assert.deepEqual(later.slice(0, parts.length), parts);
  }
}

function attribute(value: string, name: string, whole = false): number | undefined {
  const match = new RegExp(`${whole ? '(?:^|,)' : ''}${name}=([\\d.]+)`).exec(value);
  return match ? Number(match[1]) : undefined;
}
