// Last lines of the log of a node, shown with a test that failed.
import type { Scope } from './kube/scope.ts';

const maxLines = 40;
/** Characters of a shown line. */
const maxLine = 400;
/** Requests that succeeded: a page that waits makes many of them. */
const usual = /"status":[23]\d\d,.*"msg":"request completed"/;

export class LastLines {
  readonly #lines: string[] = [];

  add(line: string): void {
    if (usual.test(line)) return;
    this.#lines.push(line.trimEnd().slice(0, maxLine));
    if (this.#lines.length > maxLines) this.#lines.shift();
  }

  /** A scope that is not a test shows nothing. */
  showIfFailed(scope: Scope): void {
    const test = scope as Scope & { passed?: boolean; diagnostic?: (text: string) => void };
    scope.after(async () => {
      if (test.passed === false) for (const line of this.#lines) test.diagnostic?.(line);
    });
  }
}
