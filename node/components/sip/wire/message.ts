// SIP message parser (RFC 3261, section 7): parses within bounds, validates, and serializes again for SIP.js, which trusts its input.

export type Header = { /** Lower case, in its long form. */ name: string; value: string };
export type SipMessage = {
  start: string;
  /** Method of a request; undefined for a response. */
  method: string | undefined;
  /** Status of a response. */
  status: number | undefined;
  headers: Header[];
  body: string;
};

const maxBytes = 64 * 1024;
const maxHeaders = 128;
const maxLine = 8192;
const maxBody = 16 * 1024;
const maxVias = 32;

/** Compact forms of section 7.3.3 and of extensions in use. */
const compactNames: Record<string, string> = {
  v: 'via',
  f: 'from',
  t: 'to',
  i: 'call-id',
  m: 'contact',
  l: 'content-length',
  c: 'content-type',
  e: 'content-encoding',
  s: 'subject',
  k: 'supported',
  r: 'refer-to',
  b: 'referred-by',
  o: 'event',
  u: 'allow-events',
  x: 'session-expires',
};
const unusualNames: Record<string, string> = {
  'call-id': 'Call-ID',
  cseq: 'CSeq',
  'www-authenticate': 'WWW-Authenticate',
  'min-se': 'Min-SE',
};
const token = /^[A-Za-z0-9\-.!%*_+`'~]{1,128}$/;
const requestLine = /^([A-Z0-9\-.!%*_+`'~]{1,32}) (sips?:[^\s<>"]{1,1024}) SIP\/2\.0$/i;
const statusLine = /^SIP\/2\.0 ([1-6]\d\d) ?(.{0,256})$/;
/** Headers that must occur once (section 8.1.1). */
const once = ['from', 'to', 'call-id', 'cseq'] as const;
const cseqForm = /^(\d{1,10})[ \t]+([A-Za-z0-9\-.!%*_+`'~]{1,32})$/;

/** @returns undefined for an invalid message. Never throws. */
export function readMessage(bytes: Buffer): SipMessage | undefined {
  if (bytes.length > maxBytes) return undefined;
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = bytes.toString('utf8', 0, end);
  const [start = '', ...lines] = head.split('\r\n');
  const request = requestLine.exec(start);
  const status = statusLine.exec(start);
  if (!request && !status) return undefined;
  const headers = readHeaders(lines);
  if (!headers) return undefined;
  const method = request?.[1];
  if (!isWhole(headers, method)) return undefined;
  const body = bodyOf(bytes.subarray(end + 4), headers);
  if (body === undefined) return undefined;
  return { start, method, status: status ? Number(status[1]) : undefined, headers, body };
}

export function headerOf(message: SipMessage, name: string): string | undefined {
  return message.headers.find((header) => header.name === name)?.value;
}

export function writeMessage({ start, headers, body }: SipMessage): string {
  const lines = headers.filter(({ name }) => name !== 'content-length').map(({ name, value }) => `${shownAs(name)}: ${value}`);
  return `${[start, ...lines, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`;
}

/** Usual capitalization, because some user agents compare header names case-sensitively. */
function shownAs(name: string): string {
  return unusualNames[name] ?? name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

function readHeaders(lines: readonly string[]): Header[] | undefined {
  const headers: Header[] = [];
  for (const line of lines) {
    // Rejects control characters: they could inject header lines, or control a log or terminal.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is them that are looked for
    if (line.length > maxLine || /[\x00-\x08\x0a-\x1f\x7f]/.test(line)) return undefined;
    const last = headers.at(-1);
    if (/^[ \t]/.test(line)) {
      if (!last || last.value.length + line.length > maxLine) return undefined;
      last.value = `${last.value} ${line.trim()}`.trim();
      continue;
    }
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon < 1 || !token.test(name) || headers.length >= maxHeaders) return undefined;
    headers.push({ name: compactNames[name] ?? name, value: line.slice(colon + 1).trim() });
  }
  return headers;
}

function isWhole(headers: readonly Header[], method: string | undefined): boolean {
  const all = (wanted: string) => headers.filter(({ name }) => name === wanted);
  if (once.some((name) => all(name).length !== 1)) return false;
  const vias = all('via');
  if (vias.length === 0 || vias.length > maxVias) return false;
  const [, number, ofMethod] = cseqForm.exec(all('cseq')[0]?.value ?? '') ?? [];
  if (Number(number) >= 2 ** 31) return false;
  if (ofMethod === undefined || (method !== undefined && method !== ofMethod)) return false;
  return /^\S{1,256}$/.test(all('call-id')[0]?.value ?? '');
}

/** Bytes after Content-Length do not belong to the body (section 18.3). */
function bodyOf(rest: Buffer, headers: readonly Header[]): string | undefined {
  const lengths = headers.filter(({ name }) => name === 'content-length').map(({ value }) => value);
  const [length = String(rest.length)] = lengths;
  if (lengths.some((each) => each !== length) || !/^\d{1,7}$/.test(length) || Number(length) > rest.length) return undefined;
  if (Number(length) > maxBody) return undefined;
  return rest.toString('utf8', 0, Number(length));
}
