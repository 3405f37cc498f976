// Troubleshooting page: docs/how-to/troubleshoot.md names only existing metrics, log lines, settings, errors, events and endpoints.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { errorCatalogue } from '../../api/errors.ts';
import { events } from '../../api/events.ts';
import { knownNames } from '../../api/settings/variables.ts';
import { routes } from '../../node/http/routes/routes.ts';
import { Metrics } from '../../node/metrics/metrics.ts';
import { root, sourceFiles } from './source-files.ts';

const page = readFileSync(join(root, 'docs/how-to/troubleshoot.md'), 'utf8');
const marked = [...new Set([...page.replaceAll(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text))];
const those = (pattern: RegExp) => marked.filter((text) => pattern.test(text));
/** Fails if a name is unknown, or if the page has none at all, because the pattern is wrong then. */
function allKnown(names: readonly string[], isKnown: (name: string) => boolean): void {
  assert.ok(names.length > 0);
  assert.deepEqual(
    names.filter((name) => !isKnown(name)),
    [],
  );
}

test('every metric named in troubleshooting exists', async () => {
  const text = await new Metrics().text();
  const series = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name));
  allKnown(those(/^(svc|nodejs|process)_\w+$/), (name) => series.has(name));
});

test('every variable named in troubleshooting exists', () => {
  allKnown(
    those(/^SVC_\w+/).map((text) => /^SVC_(\w+)/.exec(text)?.[1] ?? ''),
    (name) => knownNames.has(name),
  );
});

test('every endpoint named in troubleshooting exists', () => {
  const known = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  allKnown(those(/^(GET|POST|PATCH|DELETE) /), (call) => known.has(call));
});

test('every error code and event type named in troubleshooting exists', () => {
  allKnown(those(/^(?!svc_|nodejs_|process_)[a-z]+(_[a-z]+)+$/), (code) => code in errorCatalogue);
  allKnown(those(/^(Room|Peer|Track|Component|Hls|Recording|Sip)[A-Z]\w+$/), (type) => type in events);
});

test('every log line named in troubleshooting exists in the code', () => {
  const source = sourceFiles(['node'])
    .map(({ text }) => text)
    .join('\n');
  allKnown(
    those(/^[a-z]+ [^=]*$/i).filter((text) => !/^(GET|POST|PATCH|DELETE) |^npm /.test(text)),
    (line) => source.includes(`'${line}'`),
  );
});
