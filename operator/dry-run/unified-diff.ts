// Unified diff of two texts, like `diff -u`. Pure.

const context = 3;
/** Limit of edits. Texts with more differences are shown as completely replaced, because the search would take long. */
const maxEdits = 1_000;

type Line = { mark: ' ' | '-' | '+'; text: string };

/** Empty if the texts are equal. The names are in the first two lines. */
export function unifiedDiff(names: { before: string; after: string }, before: string, after: string): string {
  const lines = edits(linesOf(before), linesOf(after));
  const shown = new Set<number>();
  for (const [index, { mark }] of lines.entries())
    if (mark !== ' ') for (let near = index - context; near <= index + context; near += 1) shown.add(near);
  if (shown.size === 0) return '';
  const hunks: string[] = [];
  let [old, fresh] = [1, 1];
  for (let from = 0; from < lines.length; ) {
    if (!shown.has(from)) {
      from += 1;
      old += 1;
      fresh += 1;
      continue;
    }
    let to = from;
    while (to < lines.length && shown.has(to)) to += 1;
    const hunk = lines.slice(from, to);
    const [gone, made] = [hunk.filter(({ mark }) => mark !== '+').length, hunk.filter(({ mark }) => mark !== '-').length];
    hunks.push(`@@ -${range(old, gone)} +${range(fresh, made)} @@`, ...hunk.map(({ mark, text }) => mark + text));
    from = to;
    old += gone;
    fresh += made;
  }
  return [`--- ${names.before}`, `+++ ${names.after}`, ...hunks, ''].join('\n');
}

/** An empty range has the number of the line before it. */
function range(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`;
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** Myers: An O(ND) Difference Algorithm and Its Variations, 1986. */
function edits(before: readonly string[], after: readonly string[]): Line[] {
  const traces: Map<number, number>[] = [];
  const furthest = new Map<number, number>([[1, 0]]);
  for (let steps = 0; steps <= Math.min(before.length + after.length, maxEdits); steps += 1) {
    traces.push(new Map(furthest));
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      let at = reached(furthest, diagonal, steps);
      while (at < before.length && at - diagonal < after.length && before[at] === after[at - diagonal]) at += 1;
      furthest.set(diagonal, at);
      if (at >= before.length && at - diagonal >= after.length) return walkBack(traces, before, after);
    }
  }
  return [...before.map((text) => ({ mark: '-', text }) as const), ...after.map((text) => ({ mark: '+', text }) as const)];
}

/** Position in the old text at which the next step on that diagonal begins. */
function reached(furthest: ReadonlyMap<number, number>, diagonal: number, steps: number): number {
  const [below, above] = [furthest.get(diagonal - 1) ?? -1, furthest.get(diagonal + 1) ?? -1];
  return diagonal === -steps || (diagonal !== steps && below < above) ? above : below + 1;
}

function walkBack(traces: readonly ReadonlyMap<number, number>[], before: readonly string[], after: readonly string[]): Line[] {
  const lines: Line[] = [];
  let [old, fresh] = [before.length, after.length];
  for (let steps = traces.length - 1; steps >= 0; steps -= 1) {
    const furthest = traces[steps] ?? new Map();
    const start = reached(furthest, old - fresh, steps);
    const start2 = start - (old - fresh);
    while (old > start && fresh > start2) {
      lines.push({ mark: ' ', text: before[old - 1] ?? '' });
      old -= 1;
      fresh -= 1;
    }
    if (steps === 0) break;
    const [below, above] = [furthest.get(old - fresh - 1) ?? -1, furthest.get(old - fresh + 1) ?? -1];
    const inserted = old - fresh === -steps || (old - fresh !== steps && below < above);
    if (inserted) {
      fresh -= 1;
      lines.push({ mark: '+', text: after[fresh] ?? '' });
    } else {
      old -= 1;
      lines.push({ mark: '-', text: before[old] ?? '' });
    }
  }
  return lines.reverse();
}
