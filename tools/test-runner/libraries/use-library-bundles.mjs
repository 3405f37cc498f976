// Loaded into the process of every test file: imports of our own files get the bundles of library-bundles.mjs.

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { bundledLibrariesVariable } from '../../paths.mjs';

const folder = process.env[bundledLibrariesVariable];

if (folder !== undefined) {
  /** @type {Record<string, string>} */
  const files = JSON.parse(readFileSync(join(folder, 'libraries.json'), 'utf8'));
  registerHooks({
    resolve(specifier, context, next) {
      const file = Object.hasOwn(files, specifier) ? files[specifier] : undefined;
      const isOurs = context.conditions.includes('import') && !context.parentURL?.includes('/node_modules/');
      if (file === undefined || !isOurs) return next(specifier, context);
      return { url: pathToFileURL(join(folder, file)).href, shortCircuit: true };
    },
  });
}
