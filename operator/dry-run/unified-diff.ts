// Unified diff of two texts, like `diff -u`. Pure.
import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff';

/** Texts with more edits are shown as completely replaced, because the search would take long. */
const options = { context: 3, maxEditLength: 1_000 };

/** Empty if the texts are equal. The names are in the first two lines. Each text is empty or ends with a line feed. */
export function unifiedDiff(names: { before: string; after: string }, before: string, after: string): string {
  const { before: oldFileName, after: newFileName } = names;
  const found = structuredPatch(oldFileName, newFileName, before, after, undefined, undefined, options);
  const patch = found ?? { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks: [replacement(before, after)] };
  return patch.hunks.length === 0 ? '' : formatPatch(patch, FILE_HEADERS_ONLY);
}

function replacement(before: string, after: string) {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const lines = [...old.map((line) => `-${line}`), ...fresh.map((line) => `+${line}`)];
  return { oldStart: 1, oldLines: old.length, newStart: 1, newLines: fresh.length, lines };
}

function linesOf(text: string): string[] {
  return text.split('\n').slice(0, -1);
}
