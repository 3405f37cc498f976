// Schemas of single configuration values. Every message completes the text `Expected <name> ...`.
import { isIP } from 'node:net';
import { z } from 'zod';
import { bucketPattern, isObjectPrefix, isRegionName, objectPrefixRule, s3Facts } from '../component/s3-target.ts';
import { kube, matches, rule, text } from '../core/kube.ts';
import { httpUrlRules, isHttpUrl } from '../room.ts';

/** A text that passes `test`. `expected` reads `to be ...`. */
export function stringMatching(expected: string, test: (text: string) => boolean) {
  return z.string({ error: expected }).refine((text) => text.length <= 4096 && test(text), { error: expected });
}

export function integer(min: number, max: number, what = 'a whole number') {
  const error = `to be ${what} from ${min} to ${max}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

export function oneOf<const Names extends readonly string[]>(names: Names) {
  return z.enum(names, { error: `to be one of ${names.join(', ')}` });
}

export function listOf<Item extends z.ZodType>(item: Item, max: number, expected: string) {
  return z.array(item, { error: expected }).max(max, { error: `to have at most ${max} entries` });
}

export const boolean = z.boolean({ error: 'to be true or false' });
/** 0 selects any free port, for tests. */
export const listenPort = integer(0, 65_535, 'a port');
export const port = integer(1, 65_535, 'a port');

/** Written as seconds, used as milliseconds. At most about 24 days, the limit of a timer. */
export const seconds = (min: number, max = 2_147_483) => integer(min, max, 'a number of seconds').transform((value) => value * 1000);

export const ipAddress = stringMatching('to be an IP address', (text) => isIP(text) !== 0);

const label = /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/;
/** A host name (RFC 1123, section 2.1; with underscores, because container networks use them), not an address. */
export function isHostName(text: string): boolean {
  const labels = text.replace(/\.$/, '').split('.');
  // A last label of digits only is a mistyped IPv4 address, because no top-level domain is numeric.
  return text.length <= 253 && labels.every((each) => label.test(each)) && !/^\d+$/.test(labels.at(-1) ?? '');
}

export const ipOrHost = stringMatching('to be an IP address or a host name', (text) => isIP(text) !== 0 || isHostName(text));
export const wildcardHost = stringMatching('to be an IP address, a host name, or * with the end of one', (text) =>
  text.startsWith('*') ? text === '*' || isHostName(`a${text.slice(1)}`) : isIP(text) !== 0 || isHostName(text),
);
export const hostName = stringMatching('to be a host name', isHostName);

/** `host[:port][/path]`, IPv6 in brackets: appended to `https://` verbatim. */
export function isAddress(text: string, withPath: boolean): boolean {
  const match = /^(?:\[([^\]]*)\]|([^:/[\]]*))(?::(\d{1,5}))?(\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?$/.exec(text);
  if (!match) return false;
  const [, ipv6, host, portText, path] = match;
  if (ipv6 !== undefined ? isIP(ipv6) !== 6 : isIP(host ?? '') !== 4 && !isHostName(host ?? '')) return false;
  if (portText !== undefined && (Number(portText) < 1 || Number(portText) > 65_535)) return false;
  return path === undefined || (withPath && !path.split('/').some((part) => part === '..' || part === '.'));
}

export const publicAddress = stringMatching('to be host[:port][/path] without a scheme, with IPv6 in brackets', (text) =>
  isAddress(text, true),
);
/** Credentials belong in OTEL_EXPORTER_OTLP_HEADERS: this value is shown. */
export function isCollectorUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.search === '';
}
export const collectorUrl = stringMatching(
  'to be the http or https URL of a collector, such as http://collector:4318/v1/traces',
  isCollectorUrl,
);
export const internalAddress = stringMatching('to be host[:port] without a scheme and path, with IPv6 in brackets', (text) =>
  isAddress(text, false),
);

export function isCidr(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}

const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.origin === text.toLowerCase();
};
export const origin = stringMatching('to be origins such as https://app.example, separated by spaces', isOrigin);
export const corsOrigin = stringMatching(
  'to be * or origins such as https://app.example',
  (text) => text === '*' || isOrigin(text),
).register(kube, {
  maxLength: 512,
  rules: [
    matches(/^(\*|https?:\/\/[^\s/?#@]+)$/, "must be '*' or an origin such as https://app.example, without a path"),
    rule(
      "!(self.startsWith('https://') && self.endsWith(':443')) && !(self.startsWith('http://') && self.endsWith(':80'))",
      'must omit the default port of the scheme',
    ),
  ],
});

export const filePath = stringMatching('to be a path', (text) => /^\P{Cc}+$/u.test(text));
export const maxTokens = 100;
export const maxTokenName = 64;
export const tokenName = stringMatching(
  `to be a name of 1 to ${maxTokenName} characters`,
  (text) => text.length <= maxTokenName && /^[\w .:@-]+$/.test(text),
);
/** Shorter API tokens can be guessed: failed attempts are limited for each client only. */
export const minTokenLength = 16;
/** Allowed characters of an `Authorization` header (RFC 9110, section 5.5). */
export const bearerToken = stringMatching('to be visible ASCII characters without spaces, at most 1024', (text) =>
  /^[\x21-\x7e]{1,1024}$/.test(text),
);
/** Variables and Secrets keep a line break at their end, which is no part of a cookie. */
export const cookie = stringMatching('to be 1 to 255 visible ASCII characters without spaces and line breaks', (text) =>
  /^[\x21-\x7e]{1,255}$/.test(text),
);
export const iceText = stringMatching('to be text of at most 4096 characters', () => true);
export const secretText = stringMatching('to be text without spaces, at most 4096 characters', (text) => /^[^\s\p{Cc}]+$/u.test(text));

export const maxWebhookSecrets = 4;
const webhookSecretForm = 'to be whsec_ followed by the base64 of 24 to 64 bytes';
/** A symmetric secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. */
export const webhookSecret = stringMatching(webhookSecretForm, (text) => {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1];
  if (base64 === undefined || base64.length % 4 !== 0) return false;
  const size = Buffer.from(base64, 'base64').length;
  return size >= 24 && size <= 64;
});
/** One secret, or several during rotation. */
export const webhookSecrets = z.union(
  [webhookSecret.transform((secret) => [secret]), listOf(webhookSecret, maxWebhookSecrets, webhookSecretForm)],
  {
    error: webhookSecretForm,
  },
);
export const httpUrl = stringMatching('to be an http or https URL', (text) => text.length <= 2048 && isHttpUrl(text)).register(kube, {
  maxLength: 2048,
  rules: httpUrlRules,
});
export const endpointUrl = stringMatching('to be an http or https URL without a user, a query and a fragment', (text) => {
  const url = URL.parse(text);
  return isHttpUrl(text) && url?.username === '' && url.password === '' && url.search === '';
}).register(kube, s3Facts.endpoint);
export const bucketName = stringMatching('to be the name of a bucket', (text) => bucketPattern.test(text)).register(kube, s3Facts.bucket);
export const regionName = stringMatching('to be the name of a region', isRegionName).register(kube, s3Facts.region);
export const objectPrefix = stringMatching(objectPrefixRule, isObjectPrefix).register(kube, s3Facts.pathPrefix);
export const iceUrl = text('a stun:, stuns:, turn: or turns: URL', /^(stuns?|turns?):[^\s/?#]+(\?transport=(udp|tcp))?$/, 512);
const portsForm = 'to be a port such as 5060, or a range of ports such as 5060-5063';
/** Number of ports that are tried after a single first port. */
const triedPorts = 200;
/** `<from>-<to>`, or `<from>` for this port and the following ones. */
export const portOrRange = z.string({ error: portsForm }).transform((text, context) => {
  const [from, to] = (/^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [])
    .slice(1)
    .map((each) => (each === undefined ? undefined : Number(each)));
  const range = from !== undefined && { min: from, max: to ?? Math.min(65_535, from + triedPorts - 1) };
  if (range && range.min >= 1 && range.min <= range.max && range.max <= 65_535) return range;
  context.addIssue({ code: 'custom', message: portsForm });
  return z.NEVER;
});
/** `<from>-<to>`, both ports included. */
export const portRange = z.string({ error: 'to be a range of ports such as 10000-10019' }).transform((text, context) => {
  const [from, to] = (/^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []).slice(1).map(Number);
  if (from !== undefined && to !== undefined && from >= 1 && from <= to && to <= 65_535) return { min: from, max: to };
  context.addIssue({ code: 'custom', message: 'to be a range of ports such as 10000-10019, the first not above the second' });
  return z.NEVER;
});
/** The text of a variable that is a flag or a list. */
export function flagOrWords(text: string): boolean | string[] {
  return text === 'true' || text === 'false' ? text === 'true' : text.split(/\s+/);
}
const flagOrList = z.union([z.boolean(), z.array(z.string())]);
/** Origins that may open websockets. */
export const checkOrigin = flagOrList.transform((given, context): 'any' | 'same-host' | string[] => {
  if (typeof given === 'boolean') return given ? 'same-host' : 'any';
  if (given.every((word) => origin.safeParse(word).success)) return given;
  context.addIssue({ code: 'custom', message: 'to be true, false or origins such as https://app.example, separated by spaces' });
  return z.NEVER;
});
/** `hops`: maximum number of proxies, null for any number; `networks`: networks of the proxies, empty for any network. */
export const trustProxy = flagOrList.transform((given, context): { hops: number | null; networks: string[] } => {
  if (given === false) return { hops: 0, networks: [] };
  const words = given === true ? ['true'] : given;
  const counts = words.filter((word) => /^([1-9]|1[0-6])$/.test(word)).map(Number);
  const networks = words.filter(isCidr);
  if (counts.length <= 1 && counts.length + networks.length === words.length) return { hops: counts[0] ?? null, networks };
  context.addIssue({ code: 'custom', message: 'to be false, a number of proxies from 1 to 16, networks such as 10.0.0.0/8, or both' });
  return z.NEVER;
});
const nodeNamePart = /^[A-Za-z0-9_-]{1,64}$/;
export const nodeName = stringMatching('to be <nodename>@<host>', (text) => {
  const [name = '', host = '', ...rest] = text.split('@');
  return rest.length === 0 && nodeNamePart.test(name) && ipOrHost.safeParse(host).success;
});
