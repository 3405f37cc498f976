// Reloadable settings: layers, overrides, hashes, errors, and reloads by rename, write and ConfigMap symlink swap.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { ConfigError } from '../../../node/config/reader.ts';
import type { ReloadableConfig } from '../../../node/config/reloadable-config.ts';
import type { ReloadableSettings } from '../../../node/config/settings.ts';
import { loadConfig } from '../../../node/config.ts';
import type { Environment } from '../../../node/env.ts';
import { testSystem } from '../../kit/fakes/config.ts';
import { fieldsOf } from '../../kit/fields.ts';

const times = { settle: 5, poll: 60_000 };
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const root = await mkdtemp(join(tmpdir(), 'config-hot-'));
let folder = '';
let count = 0;
after(() => rm(root, { recursive: true }));
beforeEach(async () => {
  count += 1;
  folder = join(root, String(count));
  await mkdir(folder);
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function load(files: string[], env: Environment = {}): Promise<ReloadableConfig> {
  return (await loadConfig({ SVC_CONFIG_FILES: files.join(' '), ...env }, testSystem())).hot;
}

/** In one step, like an editor: a half-written file would be another change. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

async function errorsOf(text: string | Buffer): Promise<readonly string[]> {
  const path = join(folder, 'f.yaml');
  await writeFile(path, text);
  try {
    await load([path]);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.errors.map((message) => message.replaceAll(path, 'FILE'));
  }
  return [];
}

function nextChange(hot: ReloadableConfig): Promise<ReloadableSettings> {
  return new Promise((done) => {
    const end = hot.onChange((settings) => {
      end();
      done(settings);
    });
  });
}

/** Watches, and returns promises of the next observer calls. */
function observe(hot: ReloadableConfig): { refused: () => Promise<string>; reloaded: () => Promise<void> } {
  let refused = Promise.withResolvers<string>();
  let reloaded = Promise.withResolvers<void>();
  hot.watch({ refused: (error) => refused.resolve(error), reloaded: () => reloaded.resolve() }, times);
  return {
    refused: () => {
      refused = Promise.withResolvers<string>();
      return refused.promise;
    },
    reloaded: () => {
      reloaded = Promise.withResolvers<void>();
      return reloaded.promise;
    },
  };
}

describe('files', () => {
  it('set every setting in the units that the node uses', async () => {
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    const accessSecret = randomBytes(24).toString('base64url');
    const hot = await load([
      await file(
        'all.yaml',
        `
apiTokens: [{name: a, token: t1, scope: admin}, {name: b, token: t2, scope: read}]
apiReadTokens: [{name: c, token: t3}]
secretKeys: [k1, k2]
accessKeys: [{id: key1, secret: ${accessSecret}}]
componentsUsed: [hls, sip, hls]
logLevel: debug
corsOrigins: ['https://a.example']
iceServers: [{urls: ['stun:s.example:3478', 'turns:s.example?transport=tcp'], username: u, credential: c}]
allowPrivateAddresses: true
webhooks: {urls: ['https://h.example/x'], secret: ${secret}, maxAge: 60, allowPrivate: false}
limits: {maxRooms: 1, maxPeersPerRoom: 2, maxTracksPerPeer: 3, rateLimitApi: 4, rateLimitSocket: null, pendingMaxBytes: 6, dataMessageMaxBytes: 7}
timeouts: {peerResumeWindow: 7, rawRecordingTtl: 8, accessTokenMaxTtl: 600}
roomDefaults: {peerDisconnectedTimeout: null, peerlessPurgeTimeout: 9}
s3: {bucket: bbb, region: eu-1, endpoint: 'https://s3.example', accessKeyId: i, secretAccessKey: s, pathPrefix: p/q}
webrtc: {maxIncomingBitrate: 10, maxWorkerTracks: 300}
avMaxCpu: 0.25
`,
      ),
    ]);
    assert.deepEqual(hot.current, {
      apiTokens: [
        { name: 'a', token: 't1', scope: 'admin' },
        { name: 'b', token: 't2', scope: 'read' },
        { name: 'c', token: 't3', scope: 'read' },
      ],
      secretKeys: ['k1', 'k2'],
      accessKeys: [{ id: 'key1', secret: accessSecret }],
      componentsUsed: ['hls', 'sip'],
      logLevel: 'debug',
      corsOrigins: ['https://a.example'],
      iceServers: [{ urls: ['stun:s.example:3478', 'turns:s.example?transport=tcp'], username: 'u', credential: 'c' }],
      allowPrivateAddresses: true,
      webhooks: { urls: ['https://h.example/x'], livekitUrls: [], secrets: [secret], maxAge: 60_000, allowPrivate: false },
      limits: {
        maxRooms: 1,
        maxPeersPerRoom: 2,
        maxTracksPerPeer: 3,
        rateLimitApi: 4,
        rateLimitSocket: null,
        pendingMaxBytes: 6,
        dataMessageMaxBytes: 7,
      },
      timeouts: { peerResumeWindow: 7000, rawRecordingTtl: 8000, accessTokenMaxTtl: 600_000 },
      roomDefaults: { peerDisconnectedTimeout: null, peerlessPurgeTimeout: 9 },
      s3: { bucket: 'bbb', region: 'eu-1', endpoint: 'https://s3.example', accessKeyId: 'i', secretAccessKey: 's', pathPrefix: 'p/q' },
      webrtc: { maxIncomingBitrate: 10, maxWorkerTracks: 300 },
      avMaxCpu: 0.25,
    });
  });

  it('are merged in order, by name, and may be empty', async () => {
    const one = await file(
      '1.yaml',
      'limits: {maxRooms: 1, maxTracksPerPeer: 5}\ns3: {bucket: bucket}\ncorsOrigins: ["https://a.example"]\n',
    );
    const two = await file(
      '2.yaml',
      'limits: {maxRooms: 2}\ns3: {accessKeyId: i, secretAccessKey: s}\ncorsOrigins: ["https://b.example"]\n',
    );
    const hot = await load([one, two, await file('3.yaml', '# nothing\n')]);
    assert.deepEqual([hot.current.limits.maxRooms, hot.current.limits.maxTracksPerPeer], [2, 5]);
    assert.deepEqual(
      [hot.current.s3?.bucket, hot.current.s3?.accessKeyId, hot.current.corsOrigins],
      ['bucket', 'i', ['https://b.example']],
    );
  });

  it('are listed with the SHA-256 of their bytes, in order', async () => {
    const paths = [await file('1.yaml', 'logLevel: debug\n'), await file('2.yaml', '{}')];
    const hot = await load(paths);
    assert.deepEqual(hot.files(), [
      { name: paths[0], sha256: sha256('logLevel: debug\n') },
      { name: paths[1], sha256: sha256('{}') },
    ]);
  });

  it('may contain the tokens that a node beyond loopback needs', async () => {
    const hot = await load([await file('s.yaml', 'apiTokens: [{name: a, token: t, scope: admin}]')], { SVC_IP: '0.0.0.0' });
    assert.equal(hot.current.apiTokens[0]?.token, 't');
  });

  it('are overridden by the environment, name by name, which is reported', async () => {
    const path = await file('f.yaml', 'limits: {maxRooms: 1, maxPeersPerRoom: 7}\napiTokens: [{name: a, token: t, scope: read}]\n');
    const env = { SVC_MAX_ROOMS: 'none', LEGACY_SERVER_API_TOKEN: 'e1 e2', SVC_LOG_LEVEL: 'debug' };
    const { hot, warnings } = await loadConfig({ ...env, SVC_CONFIG_FILES: path }, testSystem());
    assert.deepEqual([hot.current.limits.maxRooms, hot.current.limits.maxPeersPerRoom], [null, 7]);
    assert.deepEqual(fieldsOf(hot.current.apiTokens, 'name', 'token', 'scope'), [
      ['environment 1', 'e1', 'admin'],
      ['environment 2', 'e2', 'admin'],
    ]);
    assert.deepEqual(hot.shadowed, ['apiTokens', 'limits.maxRooms']);
    assert.ok(warnings.includes('The environment overrides these names in configuration files: apiTokens, limits.maxRooms'));
  });

  it('add read tokens to those of the environment', async () => {
    const path = await file('f.yaml', 'apiReadTokens: [{name: wall, token: seen}]\n');
    const scopes = ({ current }: ReloadableConfig) => current.apiTokens.map(({ name, token, scope }) => [name, token, scope]);
    const hot = await load([path], { SVC_SERVER_API_TOKEN: 'all' });
    assert.deepEqual(scopes(hot), [
      ['environment', 'all', 'admin'],
      ['wall', 'seen', 'read'],
    ]);
    const changed = nextChange(hot);
    await writeFile(path, 'apiReadTokens: []\n');
    await hot.reload();
    assert.equal((await changed).apiTokens.length, 1);
    await writeFile(path, 'apiReadTokens: [{name: wall, token: all}]\n');
    await hot.reload();
    assert.match(hot.error ?? '', /^Expected SVC_SERVER_API_READ_TOKEN .* to have no admin token/);
    assert.equal(hot.current.apiTokens.length, 1);
    const shadowing = await load([await file('g.yaml', 'apiReadTokens: [{name: wall, token: seen}]\n')], {
      SVC_SERVER_API_READ_TOKEN: 'r1 r2',
    });
    assert.deepEqual(scopes(shadowing).slice(1), [
      ['environment read 1', 'r1', 'read'],
      ['environment read 2', 'r2', 'read'],
    ]);
    assert.deepEqual(shadowing.shadowed, ['apiReadTokens']);
  });
});

describe('an invalid file', () => {
  const cases: [what: string, text: string | Buffer, ...errors: string[]][] = [
    [
      'unknown names',
      'limits: {maxRoom: 1}\nfoo: 1',
      'FILE to have only known names, got: foo',
      'FILE to have only known names, got: limits.maxRoom',
    ],
    ['a wrong value', 'limits: {maxRooms: many}', 'limits.maxRooms in FILE to be a whole number from 0 to 1000000, got: many'],
    ['a wrong element', 'componentsUsed: [hls, rtsp]', 'componentsUsed[1] in FILE to be one of hls, recording, sip, file, got: rtsp'],
    [
      'a value where a mapping belongs',
      'webhooks: whsec_seed',
      'webhooks in FILE to be a mapping of names to values, got: a string that is not shown here',
    ],
    ['a value where a list belongs', 'secretKeys: seed', 'secretKeys in FILE to be a list of keys, got: a string that is not shown here'],
    ['a list at the top', '- seed', 'FILE to be a mapping of names to values, got: a list'],
    ['a missing name', 'apiTokens: [{name: a, token: seed}]', 'apiTokens[0].scope in FILE to be one of admin, read, got: nothing'],
    [
      'a number for a secret',
      'secretKeys: [12345]',
      'secretKeys[0] in FILE to be text without spaces, at most 4096 characters, got: a number that is not shown here',
    ],
    ['no token at all', 'apiTokens: []', 'apiTokens in FILE to have at least one token, got: a list'],
    ['broken YAML', 'secretKeys: [seed\nlogLevel: "', 'FILE to be YAML, got: BAD_INDENT at line 2, column 1'],
    ['a name twice', 'logLevel: info\nlogLevel: debug', 'FILE to be YAML, got: DUPLICATE_KEY at line 2, column 1'],
    ['two documents', 'logLevel: info\n---\nlogLevel: debug', 'FILE to be YAML, got: MULTIPLE_DOCS at line 2, column 1'],
    ['an unknown tag', 'logLevel: !!js/function seed', 'FILE to be YAML, got: TAG_RESOLVE_FAILED at line 1, column 11'],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0xff]), 'FILE to be YAML, got: bytes that are not UTF-8'],
    ['deep nesting', '['.repeat(200_000), 'FILE to be YAML, got: RESOURCE_EXHAUSTION at line 1, column 795'],
    ['too many bytes', `#${'x'.repeat(1024 * 1024)}`, 'FILE to be a readable file of at most 1 MiB, got: more than 1048576 bytes'],
  ];
  for (const [what, text, ...errors] of cases) {
    const expected = errors.map((error) => `Expected ${error}`);
    it(`fails the start with its error: ${what}`, async () => assert.deepEqual([...(await errorsOf(text))].sort(), expected));
  }

  it('cannot exhaust memory with aliases', async () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 9; level += 1)
      lines.push(
        `a${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(', ')}]`,
      );
    assert.deepEqual(await errorsOf(lines.join('\n')), ['Expected FILE to be YAML, got: too deep nesting or too many aliases']);
  });

  it('is never quoted if it contains a secret', async () => {
    const shapes = [
      (seed: string) => `secretKeys: {a: ${seed}}`,
      (seed: string) => `apiTokens: [{name: a, token: "${seed} ${seed}", scope: read}]`,
      (seed: string) => `apiTokens: ${seed}`,
      (seed: string) => `webhooks: {secret: ${seed}}`,
      (seed: string) => `s3: ${seed}`,
      (seed: string) => `s3: {secretAccessKey: [${seed}]}`,
      (seed: string) => `iceServers: [{urls: 'turn:x', username: ${seed}}]`,
      (seed: string) => `secretKeys: [${seed}`,
      (seed: string) => `secretKeys: "${seed}`,
      (seed: string) => `secretKeys: *${seed}`,
      (seed: string) => `secretKeys: !${seed} x`,
    ];
    for (const shape of shapes) {
      const seed = `s${randomBytes(12).toString('hex')}`;
      const errors = await errorsOf(shape(seed));
      assert.equal(errors.length, 1, shape(seed));
      assert.ok(!errors.join().includes(seed), errors.join());
    }
  });
});

describe('a reload', () => {
  it('applies a written file and notifies the listeners', async () => {
    const path = await file('f.yaml', 'logLevel: info\n');
    const hot = await load([path]);
    hot.watch(undefined, times);
    const change = nextChange(hot);
    await replace(path, 'logLevel: debug\n');
    assert.equal((await change).logLevel, 'debug');
    assert.deepEqual([hot.current.logLevel, hot.files()[0]?.sha256, hot.error], ['debug', sha256('logLevel: debug\n'), null]);
    await hot.close();
  });

  it("follows a ConfigMap's symlink swap", async () => {
    for (const [version, level] of [
      ['..1', 'info'],
      ['..2', 'debug'],
    ] as const) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, 'f.yaml'), `logLevel: ${level}\n`);
    }
    await symlink('..1', join(folder, '..data'));
    await symlink(join('..data', 'f.yaml'), join(folder, 'f.yaml'));
    const hot = await load([join(folder, 'f.yaml')]);
    hot.watch(undefined, times);
    const change = nextChange(hot);
    await symlink('..2', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    assert.equal((await change).logLevel, 'debug');
    await hot.close();
  });

  it('detects a change by polling if the file system sends no events', async () => {
    const target = join(root, `${count}-elsewhere.yaml`);
    await writeFile(target, 'logLevel: info\n');
    await symlink(target, join(folder, 'f.yaml'));
    const hot = await load([join(folder, 'f.yaml')]);
    hot.watch(undefined, { settle: 5, poll: 20 });
    const change = nextChange(hot);
    await writeFile(target, 'logLevel: debug\n');
    assert.equal((await change).logLevel, 'debug');
    await hot.close();
  });

  it('rejects an invalid file completely, keeps its last valid content, applies other files, and clears the error once fixed', async () => {
    const good = 'limits: {maxRooms: 1}\n';
    const one = await file('1.yaml', good);
    const two = await file('2.yaml', 'logLevel: info\n');
    const hot = await load([one, two]);
    const heard = observe(hot);
    const refusal = heard.refused();
    await replace(one, 'limits: {maxRooms: 2, maxRoom: 3}\n');
    const message = `Expected ${one} to have only known names, got: limits.maxRoom`;
    assert.equal(await refusal, message);
    assert.deepEqual([hot.error, hot.current.limits.maxRooms, hot.files()[0]?.sha256], [message, 1, sha256(good)]);
    const change = nextChange(hot);
    await replace(two, 'logLevel: debug\n');
    await change;
    assert.deepEqual([hot.error, hot.current.limits.maxRooms, hot.current.logLevel], [message, 1, 'debug']);
    const reloaded = heard.reloaded();
    await replace(one, good);
    await reloaded;
    assert.equal(hot.error, null);
    await hot.close();
  });

  it('keeps everything if the files are invalid only in combination', async () => {
    const path = await file('f.yaml', 'logLevel: info\n');
    const hot = await load([path]);
    await writeFile(path, 'logLevel: debug\ns3: {bucket: bbb}\n');
    await hot.reload();
    assert.match(hot.error ?? '', /to be set all or none, got only: s3\.bucket$/);
    assert.deepEqual([hot.current.logLevel, hot.files()[0]?.sha256], ['info', sha256('logLevel: info\n')]);
  });

  it('keeps the last valid state while a file is missing', async () => {
    const path = await file('f.yaml', 'logLevel: debug\n');
    const hot = await load([path]);
    await rm(path);
    await hot.reload();
    assert.deepEqual([hot.current.logLevel, hot.error], ['debug', `Expected ${path} to be a readable file of at most 1 MiB, got: ENOENT`]);
  });

  it('without changed settings notifies no listener, but updates the hash', async () => {
    const path = await file('f.yaml', 'logLevel: debug\n');
    const hot = await load([path]);
    let reloads = 0;
    hot.onChange(() => {
      reloads += 1;
    });
    await writeFile(path, 'logLevel: debug # as before\n');
    await hot.reload();
    assert.deepEqual([reloads, hot.files()[0]?.sha256], [0, sha256('logLevel: debug # as before\n')]);
  });

  it('leaves nothing running after close', async () => {
    const path = await file('f.yaml', '{}');
    const handles = () => process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap' || name === 'Timeout').length;
    const start = handles();
    const hot = await load([path]);
    hot.watch(undefined, times);
    await writeFile(path, 'logLevel: debug\n');
    await hot.close();
    await hot.close();
    assert.ok(handles() <= start);
  });
});
