// REST examples of README and docs, run verbatim against a node.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeTone } from '../kit/media/media-files.ts';
import { docCommands, runShell } from '../kit/processes/doc-commands.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';

const docs = readdirSync(join(import.meta.dirname, '../../docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.md'),
);
const pages = ['README.md', ...docs.map((name) => `docs/${name}`)];

/** Examples of rejected requests; all others must succeed. */
const refused: readonly [RegExp, number][] = [
  [/no spaces/, 400],
  [/Bearer wrong|\/room$/, 401],
];

test('every request in README and docs has the documented response', async (t) => {
  const resources = await makeResources(t);
  await makeTone(join(resources, 'file_component_sources/welcome.ogg'), 440, 30);
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'file hls recording', SVC_RESOURCES_BASE_PATH: resources });
  const shown = pages.flatMap((page) =>
    docCommands(page).filter((line) => line.startsWith('curl ') && /http:\/\/127\.0\.0\.1:(5002|9568)/.test(line)),
  );
  assert.ok(shown.length >= 12, `${shown.length} requests`);
  for (const line of shown) {
    const command = line.replaceAll('http://127.0.0.1:5002', node.url).replaceAll('http://127.0.0.1:9568/metrics', node.metricsUrl);
    const env = { ...process.env, SVC_SERVER_API_TOKEN: node.token };
    const printed = await runShell(`${command.replace(/ -w '[^']*'/, '')} -w '\n%{http_code}'`, { env });
    const [, status] = /\n(\d{3})$/.exec(printed) ?? [];
    const expected = refused.find(([pattern]) => pattern.test(line))?.[1];
    if (expected === undefined) assert.match(status ?? '', /^20[0-4]$/, `${line}\n${printed}`);
    else assert.equal(status, String(expected), `${line}\n${printed}`);
  }
});
