// `npm run reference`: writes files generated from schemas and tables of the source: types and methods of packages/server-sdk, messages and codes of packages/client and pages of docs/reference.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { openApiDocument } from '../../node/http/openapi.ts';
import { routes } from '../../node/http/routes/routes.ts';
import { nodeModules, root } from '../paths.mjs';
import { apiPage } from './api-page.ts';
import { closeCodesText } from './client-close-codes.ts';
import { clientProtocolText } from './client-protocol.ts';
import { configurationPage } from './configuration-page.ts';
import { errorsPage } from './errors-page.ts';
import { eventsPage } from './events-page.ts';
import { mediaObjectsPage } from './media-objects-page.ts';
import { metricsPage } from './metrics-page.ts';
import { methodsText } from './sdk-methods.ts';
import { eventsText, operationsText, schemasText } from './sdk-types.ts';
import { websocketsPage } from './websockets-page.ts';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

/** Every generated file, by its path from the root. */
export async function generatedFiles(): Promise<Record<string, string>> {
  const document = openApiDocument(routes, { version, path: '' });
  const sources = {
    'server-sdk/src/generated/schemas.ts': schemasText(document),
    'server-sdk/src/generated/operations.ts': operationsText(document),
    'server-sdk/src/generated/methods.ts': methodsText(document),
    'server-sdk/src/generated/events.ts': eventsText(document),
    'client/src/generated/close-codes.ts': closeCodesText(),
    'client/src/generated/protocol.ts': clientProtocolText(),
  };
  const generated = Object.fromEntries(
    Object.entries(sources).map(([name, text]) => {
      const path = `packages/${name}`;
      return [path, formatted(path, text)];
    }),
  );
  return {
    ...generated,
    'docs/reference/rest-api.md': apiPage(document),
    'docs/reference/configuration.md': configurationPage(),
    'docs/reference/errors.md': errorsPage(),
    'docs/reference/events.md': eventsPage(),
    'docs/reference/media-objects.md': mediaObjectsPage(),
    'docs/reference/metrics.md': metricsPage(),
    'docs/reference/websockets.md': websocketsPage(),
  };
}

/** Formats a text with the rules of the repository for this file name. */
function formatted(path: string, text: string): string {
  const biome = join(nodeModules, '.bin', 'biome');
  return execFileSync(biome, ['format', `--stdin-file-path=${path}`], { cwd: root, input: text, encoding: 'utf8', timeout: 30_000 });
}

if (import.meta.main) for (const [path, text] of Object.entries(await generatedFiles())) writeFileSync(join(root, path), text);
