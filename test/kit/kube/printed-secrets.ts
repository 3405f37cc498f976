// Scans the output of operators and pods of a test for secrets of its API server, and for responses that violate the documentation.
import { SecretLeakScanner } from '../../../tools/test-runner/secret-leak-scan.mjs';
import { assertNoneMarked } from '../answers/answer-check.ts';
import { noteSecrets } from '../secret-search.ts';

export type StoredSecret = { metadata: { name: string }; data?: Record<string, string> };

/** Shorter values are ordinary words, which may appear in output. */
const minLength = 16;
/** Tokens of peers are detected by their format, because there may be thousands. */
const tokenOfPeer = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/;

export class PrintedSecrets {
  readonly #values = new Map<string, string>();
  readonly #texts: { who: string; text: string }[] = [];

  /** `kind`: a description, for example `the token of the administrator`. */
  secret(kind: string, value: string): void {
    if (value.length < minLength || tokenOfPeer.test(value) || this.#values.has(value)) return;
    this.#values.set(value, kind);
    noteSecrets([{ kind, value }]);
  }

  /** All values of a Secret except addresses, which are not secret. */
  stored({ metadata: { name }, data = {} }: StoredSecret): void {
    for (const [key, base64] of Object.entries(data)) {
      const value = Buffer.from(base64, 'base64').toString();
      if (!URL.canParse(value)) this.secret(`the value "${key}" of the Secret "${name}"`, value);
    }
  }

  printed(who: string, text: string): void {
    if (text !== '') this.#texts.push({ who, text });
  }

  /** @throws a message for every kind of printed secret, without the secret */
  check(): void {
    const secrets = [...this.#values].map(([value, kind]) => ({ kind, value }));
    const texts = this.#texts.splice(0);
    for (const { text } of texts) assertNoneMarked(text);
    const found = texts.flatMap(({ who, text }) => {
      const search = new SecretLeakScanner(secrets);
      search.scan(text);
      return search.found().map((message) => `${who}: ${message}`);
    });
    if (found.length > 0) throw new Error(`The output contains secrets:\n${found.join('\n')}`);
  }
}
