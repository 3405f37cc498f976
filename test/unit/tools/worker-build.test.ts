// Media worker build: the decisions that are made before a compiler runs.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { nodeModules, root } from '../../../tools/paths.mjs';
import { isMesonSupported, optimizations, progress, wrapDirectory } from '../../../tools/worker/build.mjs';
import { precompiled, withPrecompiledHeader } from '../../../tools/worker/headers.mjs';
import { profileOf, unpackProfile } from '../../../tools/worker/profile.mjs';
import { fieldsOf } from '../../kit/fields.ts';
import { tempFolder } from '../../kit/temp-folder.ts';

const workerSource = join(nodeModules, 'mediasoup', 'worker');

test('each stand-in has a wrap in the installed mediasoup that names its folder', () => {
  const names = readdirSync(join(root, 'tools', 'worker', 'subprojects'));
  assert.ok(names.includes('openssl'));
  for (const name of names) {
    const directory = wrapDirectory(readFileSync(join(workerSource, 'subprojects', `${name}.wrap`), 'utf8'));
    assert.match(directory ?? '', /^[\w.-]+$/, name);
  }
  assert.equal(wrapDirectory('[wrap-git]\nurl = x\n'), undefined);
});

test('each target with precompiled headers exists in the installed mediasoup', () => {
  assert.deepEqual(fieldsOf(precompiled, 'folder'), ['.', 'deps/libwebrtc']);
  for (const { folder, target, own } of precompiled) {
    for (const name of own) assert.ok(existsSync(join(workerSource, 'include', name)), name);
    const changed = withPrecompiledHeader(readFileSync(join(workerSource, folder, 'meson.build'), 'utf8'), target, 'a/b.hpp') ?? '';
    assert.match(changed, /\n {2}cpp_pch: 'a\/b\.hpp',\n/, folder);
  }
  assert.equal(withPrecompiledHeader("executable(\n  'x',\n)\n", "'y',", 'a/b.hpp'), undefined);
});

test('Meson is supported from version 1.1', () => {
  assert.deepEqual(
    ['1.0.1', '0.64.0', '1.1.0\n', '1.12.1', '2.0', ''].map((version) => isMesonSupported(version)),
    [false, false, true, true, true, false],
  );
});

test('link-time optimization and profiles are for GCC only', () => {
  const gcc = 'c++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n';
  const clang = 'Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n';
  assert.deepEqual(optimizations(gcc), ['-Db_lto=true']);
  assert.deepEqual(optimizations(clang), []);
  assert.equal(profileOf(gcc, 'x64'), join(root, 'tools/worker/profiles/gcc-12.2-x64.tar.gz'));
  assert.equal(profileOf(clang, 'x64'), undefined);
});

test('the profile of a compiler is copied into the folder of a build', async (t) => {
  const [profile] = readdirSync(join(root, 'tools/worker/profiles'));
  const out = join(tempFolder(t), 'out');
  await unpackProfile(join(root, 'tools/worker/profiles', profile ?? ''), out);
  assert.ok(existsSync(join(out, 'mediasoup-worker.p/src_RTC_Router.cpp.gcda')));
});

test('progress is read from the lines of Ninja', () => {
  assert.equal(progress('[130/260] Compiling C++ object x.o'), 0.5);
  assert.equal(progress('warning: [1/2] is no progress'), 0);
});
