// Images: what the Dockerfiles guarantee, the arguments of a build, and which archives are kept.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { variables } from '../../../api/settings/variables.ts';
import { withoutComments } from '../../../tools/images/archive.mjs';
import {
  buildArguments,
  buildError,
  commitName,
  imageName,
  images,
  isPinned,
  oldArchives,
  sourceEpoch,
} from '../../../tools/images/plan.mjs';
import { nodeFlags, root } from '../../../tools/paths.mjs';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const dockerfiles = { node: read('node/Dockerfile'), operator: read('operator/Dockerfile') };
const both = Object.entries(dockerfiles);
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string }> };
const image = (name: 'node' | 'operator') => images.find((each) => each.name === name) ?? assert.fail(`no image ${name}`);

/** Instructions of a Dockerfile: continued lines joined, comments removed. */
function instructions(dockerfile: string): string[] {
  const lines = dockerfile.split('\n').filter((line) => !line.startsWith('#'));
  return lines.join('\n').replaceAll('\\\n', ' ').split('\n').filter(Boolean);
}

/** Instructions of the last stage. */
function finalStage(dockerfile: string): string[] {
  const all = instructions(dockerfile);
  return all.slice(all.findLastIndex((line) => line.startsWith('FROM ')));
}

function environment(dockerfile: string): Record<string, string> {
  const words = finalStage(dockerfile)
    .filter((line) => line.startsWith('ENV '))
    .join(' ')
    .split(/\s+/);
  return Object.fromEntries(words.flatMap((word) => [...word.matchAll(/^(\w+)=(.*)$/g)].map(([, name, value]) => [name, value] as const)));
}

/** Arguments of an instruction in exec form. */
function execForm(dockerfile: string, name: string): string[] {
  const line = finalStage(dockerfile).find((each) => each.startsWith(name)) ?? assert.fail(`no ${name}`);
  return JSON.parse(line.slice(line.indexOf('['))) as string[];
}

test('only a digest pins a base image', () => {
  const digest = 'a'.repeat(64);
  assert.equal(isPinned(`docker.io/library/debian:bookworm-slim@sha256:${digest}`), true);
  for (const name of ['debian', 'docker.io/library/debian:bookworm-slim', `debian@sha256:${digest.slice(1)}`, `debian:${digest}`])
    assert.equal(isPinned(name), false, name);
  for (const [name, text] of both) assert.match(text, /^ARG BASE$/m, name);
});

describe('the Dockerfiles', () => {
  test('the node image sets exactly the variables that the reference table lists', () => {
    const { NODE_ENV, NODE_OPTIONS, MEDIASOUP_WORKER_BIN, SVC_GIT_COMMIT, ...set } = environment(dockerfiles.node);
    const expected = variables.flatMap((variable) => (variable.image === undefined ? [] : [[`SVC_${variable.env}`, variable.image]]));
    assert.deepEqual(set, Object.fromEntries(expected));
    assert.equal(NODE_ENV, 'production');
    assert.equal(NODE_OPTIONS, nodeFlags.join(' '));
    assert.equal(MEDIASOUP_WORKER_BIN, '/usr/local/bin/mediasoup-worker');
    assert.equal(SVC_GIT_COMMIT, '$' + '{SVC_GIT_COMMIT}');
  });

  for (const [name, text] of both) {
    test(`the image of the ${name} runs as a non-root user under tini and stops on SIGTERM`, () => {
      const last = finalStage(text);
      assert.ok(last.includes('USER 10001:10001'));
      assert.ok(last.includes('STOPSIGNAL SIGTERM'));
      const main = name === 'node' ? '/app/node/main.js' : '/app/operator.mjs';
      assert.deepEqual(execForm(text, 'ENTRYPOINT'), ['/usr/bin/tini', '--', '/usr/local/bin/node', main]);
      assert.deepEqual(execForm(text, 'HEALTHCHECK').slice(0, 2), ['node', '-e']);
      assert.doesNotThrow(() => new Function(`return async () => {${execForm(text, 'HEALTHCHECK')[2]}}`));
    });

    test(`the image of the ${name} has the Node.js version of package-lock.json and no unverified downloads`, () => {
      const version = /^ARG NODE_VERSION=(.*)$/m.exec(text)?.[1];
      assert.equal(version, lock.packages['node_modules/node']?.version);
      assert.equal([...text.matchAll(/^ARG \w*SHA512\w*=[0-9a-f]{128}$/gm)].length, 3);
      assert.deepEqual([...new Set(text.match(/https?:\/\/(?!127)[^\s$]+/g))], ['https://registry.npmjs.org']);
      assert.doesNotMatch(text, /^ADD /m);
    });
  }

  test('both Dockerfiles start with the same stages, so that a builder runs them once', () => {
    const [node = [], operator = []] = both.map(([, text]) => {
      const all = instructions(text).filter((line) => !line.startsWith('ARG WORKER='));
      return all.slice(0, all.indexOf('FROM packages AS build'));
    });
    assert.ok(node.length > 10);
    assert.deepEqual(node, operator);
  });

  test('files copied from the checkout pass .dockerignore and are part of the image hash', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    for (const [name, text] of both) {
      const copied = instructions(text)
        .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
        .flatMap((line) => line.split(/\s+/).slice(1, -1));
      assert.ok(copied.length > 5);
      const { sources } = image(name as 'node' | 'operator');
      // package-lock.json has the manifests of published packages, too: without their workspaces npm rejects the lock file.
      for (const path of copied.filter((each) => !/^packages\/(client|server-sdk)\/package\.json$/.test(each))) {
        assert.ok(allowed.includes(path.split('/')[0] ?? ''), `${path} is excluded by .dockerignore`);
        assert.ok(
          sources.some((source) => path === source || path.startsWith(`${source}/`)),
          `${path} is missing in the sources of ${name}`,
        );
      }
    }
  });
});

describe('an image build', () => {
  const setting = { base: 'debian:x', version: '1.2.3', commit: 'abcdef0', epoch: 7 };

  test('build arguments contain base, version, commit and time, and the worker if there is one', () => {
    const plain = buildArguments(image('node'), setting, '/src');
    assert.ok(plain.includes('--build-arg=BASE=debian:x'));
    assert.ok(plain.includes('--build-arg=SVC_GIT_COMMIT=abcdef0'));
    assert.ok(plain.includes('--timestamp=7'));
    assert.ok(!plain.some((each) => /WORKER|given|secret/.test(each)));
    assert.equal(plain.at(-1), '/src');
    const full = buildArguments(image('node'), { ...setting, worker: '/cache/w', certificates: '/etc/ca.crt' }, '/src');
    assert.ok(full.includes('--build-arg=WORKER=given'));
    assert.ok(full.includes('--build-context=given=/cache/w'));
    assert.ok(full.includes('--secret=id=ca,src=/etc/ca.crt'));
    assert.ok(!buildArguments(image('operator'), { ...setting, worker: '/cache/w' }, '/src').some((each) => each.includes('WORKER')));
  });

  test('images have the names that the operator and the chart use', () => {
    assert.equal(imageName(image('node'), '1.2.3'), 'ghcr.io/mediarooms/node:1.2.3');
    assert.match(read('operator/config.ts'), /`ghcr\.io\/mediarooms\/node:\$\{version\}`/);
  });

  test('the commit is the last one of the sources, marked if they have uncommitted changes', () => {
    assert.equal(commitName('abcdef012345\n', ''), 'abcdef012345');
    assert.equal(commitName('abcdef012345\n', ' M node/main.ts\n'), 'abcdef012345-changed');
    assert.equal(commitName('fatal: not a git repository', ''), 'unknown');
    assert.equal(commitName('', ''), 'unknown');
  });

  test('the timestamp of an image is the same for every build, unless SOURCE_DATE_EPOCH is set', () => {
    assert.equal(sourceEpoch(undefined), 0);
    assert.equal(sourceEpoch('1795000000'), 1_795_000_000);
    assert.equal(sourceEpoch('yesterday'), 0);
  });

  test('the newest archives of an image are kept, and the archives of the other image', () => {
    const archives = ['node-1-a.tar', 'node-1-b.tar', 'operator-1-a.tar', 'node-1-c.tar'].map((file, time) => ({ file, time }));
    assert.deepEqual(oldArchives(image('node'), archives, 2), ['node-1-a.tar']);
    assert.deepEqual(oldArchives(image('operator'), archives, 2), []);
  });

  test('a failed build reports the output of the failed command', () => {
    const output = [
      '[1/4] STEP 3/3: RUN npm ci',
      'npm error code EUSAGE',
      'npm error The package-lock.json is not in sync.',
      'subprocess exited with status 1',
      'Error: building at STEP "RUN npm ci": exit status 1',
    ].join('\n');
    assert.equal(buildError(output), 'npm error The package-lock.json is not in sync.');
    assert.equal(buildError('Error: building at STEP "COPY x": nothing there'), 'Error: building at STEP "COPY x": nothing there');
  });

  test('the history of an image lists its steps without ids of intermediate images', () => {
    const history = [{ created_by: 'RUN x', comment: 'FROM 0123', empty_layer: true }];
    assert.deepEqual(withoutComments({ os: 'linux', history }), { os: 'linux', history: [{ created_by: 'RUN x', empty_layer: true }] });
    assert.deepEqual(withoutComments({ os: 'linux' }), { os: 'linux' });
  });
});
