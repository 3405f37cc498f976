// Release: published to local registries, verified and installed from there as users do, to first media. Run by `npm run release:verify`.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { pinnedNode } from '../../tools/paths.mjs';
import { buildRelease } from '../../tools/release/build.mjs';
import { publishRelease } from '../../tools/release/publish.mjs';
import { imageRegistry } from '../../tools/release/registry.mjs';
import { cosign, ensureCosign } from '../../tools/release/signatures.mjs';
import { Conversation, people } from '../e2e/conversation.ts';
import { Installed, minValues } from '../e2e/installed.ts';
import { tell, timing } from '../e2e/timings.ts';
import { runCommand } from '../kit/processes/command.ts';
import { tempFolder } from '../kit/temp-folder.ts';
import { startImageRegistry } from './image-registry.ts';
import { startNpmRegistry } from './npm-registry.ts';

const folder = tempFolder({ after });
/** Nothing of this computer except programs: an own home folder, and with it own caches and no accounts. */
const clean = { PATH: `${dirname(pinnedNode)}:/usr/bin:/bin`, HOME: join(folder, 'home') };
mkdirSync(clean.HOME);

// No image is on the cluster: it pulls what the chart names from the registry of the test.
const installed = await Installed.prepare({ after }, { images: [] });
// The same images at two addresses, because `cosign verify` (2.6) requires TLS of addresses that are neither loopback nor private.
const storage = tempFolder({ after });
const mirror = await startImageRegistry({ after }, installed.cluster.here, storage);
const address = await startImageRegistry({ after }, '127.0.0.1', storage);
for (const node of installed.cluster.nodes) node.mirrorRegistry('ghcr.io', `http://${mirror}`);
const npmRegistry = await startNpmRegistry({ after });
const registry = imageRegistry(`http://${address}/mediarooms`);

process.env.COSIGN_PASSWORD = 'local';
await runCommand([await ensureCosign(), 'generate-key-pair'], { cwd: folder });
const [key, publicKey] = ['cosign.key', 'cosign.pub'].map((name) => join(folder, name));

const built = await buildRelease();
// npm publishes with a token only; this registry accepts any.
process.env[`npm_config_//${new URL(npmRegistry).host}/:_authToken`] = 'local';
const references = await timing('published and signed', () => publishRelease(built, { npmRegistry, registry, key }));

test('every image and the chart have a signature, and each image an attested bill of materials', async () => {
  assert.equal(references.length, 3);
  const options = [`--key=${publicKey}`, '--insecure-ignore-tlog=true', '--allow-http-registry'];
  for (const reference of references) await cosign(['verify', ...options, reference]);
  for (const { name } of built.images) {
    const reference = references.find((each) => each.includes(`/${name}@`)) ?? '';
    await cosign(['verify-attestation', '--type=cyclonedx', ...options, reference]);
  }
  const [first = ''] = references;
  await assert.rejects(cosign(['verify', ...options, first.replace(/.{4}$/, (end) => (end === '0000' ? '0001' : '0000'))]));
});

test('the checksums match all files and are signed', async () => {
  const { checksums } = built;
  await cosign(['verify-blob', `--key=${publicKey}`, '--insecure-ignore-tlog=true', `--bundle=${checksums}.bundle`, checksums]);
  await runCommand(['sha256sum', '--check', '--quiet', checksums], { cwd: built.folder });
});

test('a published version cannot change, and publishing it again changes nothing', async () => {
  const again = await publishRelease(built, { npmRegistry, registry, key });
  assert.deepEqual(again, references);
});

test('`npm install` in an empty folder gets both packages, whose types compile and which run', async () => {
  const project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const npm = (...args: string[]) =>
    runCommand(['npm', ...args, `--registry=${npmRegistry}`], { cwd: project, env: clean, timeoutMs: 300_000 });
  await timing('npm install', () => npm('install', '@mediarooms/client', '@mediarooms/server', 'typescript@5'));
  const source = `import { RoomClient } from '@mediarooms/client';
import { Mediarooms } from '@mediarooms/server';
const mediarooms: Mediarooms = new Mediarooms({ url: 'http://127.0.0.1', token: 'token' });
console.log(typeof mediarooms.rooms.create, typeof RoomClient);\n`;
  writeFileSync(join(project, 'program.ts'), source);
  const options = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck', 'false', '--lib', 'es2022,dom,dom.iterable'];
  await runCommand([pinnedNode, 'node_modules/typescript/bin/tsc', ...options, 'program.ts'], { cwd: project, env: clean });
  const { stdout } = await runCommand([pinnedNode, 'program.js'], { cwd: project, env: clean });
  assert.equal(stdout, 'function function\n');
  const { version } = JSON.parse(readFileSync(join(project, 'node_modules/@mediarooms/client/package.json'), 'utf8'));
  assert.equal(version, built.version);
});

test('`helm install oci://…` with default images reaches video and audio in two browsers', async (t) => {
  const browser = await installed.browser(t);
  const pages = [installed.openPage(browser), installed.openPage(browser)] as const;
  const started = performance.now();
  const chart = [`oci://${registry.path}/charts/mediarooms`, `--version=${built.version}`, '--plain-http'];
  await timing('helm install', () => installed.helm('install', 'rooms', ...chart, ...minValues));
  await installed.available('rooms');
  await installed.room('class', people);
  await Conversation.begin(installed, 'class', pages);
  tell('install from the registry to video and audio in both directions', performance.now() - started);
});
