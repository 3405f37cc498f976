// Secret leak scanner: searches output of tests and nodes for known secrets in every usual encoding, and for text that looks like a secret.

import { readFileSync } from 'node:fs';

/**
 * @typedef {{ kind: string, value: string }} Secret kind: human-readable, for example `an API token`
 */

/** Environment variable with the path of a file in which tests record every secret they use: one `Secret` as JSON per line. */
export const secretsVariable = 'MEDIAROOMS_TEST_SECRETS';

const looks = [
  { kind: 'the token of a peer', pattern: /eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{20,}/g },
  { kind: 'the secret of webhooks', pattern: /whsec_[A-Za-z0-9+/]{32,}/g },
];

/**
 * @param {string} value
 * @returns {string[]} its plain, URL and hex forms, and its base64 forms at every offset
 */
function encodedForms(value) {
  const [prefix, key] = value.startsWith('whsec_') ? ['whsec_', value.slice(6)] : ['', value];
  const texts = prefix ? [key, Buffer.from(key, 'base64')] : [key];
  const forms = texts.flatMap((text) => {
    const bytes = Buffer.from(text);
    return [bytes.toString('hex'), ...[0, 1, 2].flatMap((shift) => base64At(bytes, shift))];
  });
  return [...new Set([key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1), ...forms])];
}

/**
 * @param {Buffer} bytes
 * @param {number} shift number of bytes before it, modulo 3
 * @returns {string[]} the digits that do not depend on adjacent bytes, as base64 and base64url
 */
function base64At(bytes, shift) {
  const all = Buffer.concat([Buffer.alloc(shift), bytes]);
  const end = Math.floor((all.length * 8) / 6);
  return /** @type {const} */ (['base64', 'base64url']).map((form) => all.toString(form).slice(shift === 0 ? 0 : shift + 1, end));
}

export class SecretLeakScanner {
  /** @type {{ kind: string, forms: string[] }[]} */
  #secrets = [];
  /** @type {Map<string, string>} */
  #found = new Map();

  /** @param {readonly Secret[]} secrets */
  constructor(secrets = []) {
    for (const secret of secrets) this.add(secret);
  }

  /** @param {Secret} secret searched for from now on */
  add({ kind, value }) {
    this.#secrets.push({ kind, forms: encodedForms(value) });
  }

  /** @param {string} text */
  scan(text) {
    for (const { kind, forms } of this.#secrets) {
      for (const form of forms) {
        const at = text.indexOf(form);
        if (at >= 0) this.#note(kind, text, at, form.length);
      }
    }
    for (const { kind, pattern } of looks) {
      for (const match of text.matchAll(pattern)) this.#note(kind, text, match.index, match[0].length);
    }
  }

  /** @returns {string[]} one message per kind that was found, with the text around the first match but without the secret */
  found() {
    return [...this.#found].map(([kind, place]) => `${kind} was printed: ${place}`);
  }

  /**
   * @param {string} kind
   * @param {string} text
   * @param {number} at
   * @param {number} length
   */
  #note(kind, text, at, length) {
    if (this.#found.has(kind)) return;
    const before = text.slice(text.lastIndexOf('\n', at) + 1, at).slice(-100);
    // The surrounding text can contain another secret.
    this.#found.set(
      kind,
      `${this.#hide(before)}[here]${this.#hide(
        text
          .slice(at + length)
          .split('\n', 1)[0]
          ?.slice(0, 100) ?? '',
      )}`,
    );
  }

  /** @param {string} text */
  #hide(text) {
    let hidden = text;
    for (const { forms } of this.#secrets) for (const form of forms) hidden = hidden.replaceAll(form, '[secret]');
    for (const { pattern } of looks) hidden = hidden.replaceAll(pattern, '[secret]');
    return hidden;
  }
}

/**
 * @param {string} file of `secretsVariable`
 * @returns {Secret[]} each once; none when no test noted one
 */
export function readSecrets(file) {
  try {
    const lines = new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean));
    return [...lines].map((line) => JSON.parse(line));
  } catch {
    return [];
  }
}
