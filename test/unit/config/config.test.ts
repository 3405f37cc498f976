// Static configuration: defaults, old names, derived values, warnings, secrets.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { defaultText, knownNames, variables } from '../../../api/settings/variables.ts';
import { withActualPort } from '../../../node/config/addresses.ts';
import { describeConfig } from '../../../node/config/describe.ts';
import { ConfigError } from '../../../node/config/reader.ts';
import type { ConfigSystem } from '../../../node/config/system.ts';
import { loadConfig } from '../../../node/config.ts';
import type { Environment } from '../../../node/env.ts';
import { testSystem } from '../../kit/fakes/config.ts';
import { tempFolder } from '../../kit/temp-folder.ts';

const load = (env: Environment = {}, system: Partial<ConfigSystem> = {}) => loadConfig(env, testSystem(system));

describe('loadConfig without variables', () => {
  it('configures a node on loopback that needs no other service', async () => {
    const { config, hot, warnings } = await load();
    assert.deepEqual(warnings, []);
    assert.deepEqual(
      [config.ip, config.port, config.host, config.internalAddress],
      ['127.0.0.1', 5002, '127.0.0.1:5002', '127.0.0.1:5002'],
    );
    assert.deepEqual(config.metrics, { ip: '127.0.0.1', port: 9568 });
    assert.deepEqual(config.webrtc, {
      listenIp: '127.0.0.1',
      announced: { addresses: ['127.0.0.1'] },
      basePort: null,
      workers: 2,
      sending: { batch: true, gso: true },
      turn: { enabled: false, port: 3478, tls: null, relayIp: '127.0.0.1' },
    });
    assert.deepEqual(config.sip, { ip: null, ports: { min: 5060, max: 5259 }, rtpPorts: { min: 10_000, max: 10_019 } });
    assert.deepEqual(config.dist, {
      enabled: false,
      mode: 'sname',
      nodeName: 'svc@test-host',
      strategy: { name: 'NODES_LIST', nodes: [] },
      ports: null,
      cookie: 'svc_cookie',
      dialsErlang: false,
      tls: null,
      ip: '127.0.0.1',
      tick: 60_000,
    });
    assert.deepEqual(
      [config.tls, config.checkOrigin, config.trustProxy, config.drainTimeout, config.shutdownDelay],
      [null, 'any', { hops: 0, networks: [] }, 0, 0],
    );
    assert.match(config.resourcesBasePath, /\/svc_resources$/);
    assert.deepEqual(hot.current.apiTokens, [{ name: 'development', token: hot.developmentToken, scope: 'admin' }]);
    assert.deepEqual(hot.current.timeouts, { peerResumeWindow: 10_000, rawRecordingTtl: null, accessTokenMaxTtl: 86_400_000 });
    assert.deepEqual(hot.current.roomDefaults, { peerDisconnectedTimeout: 120, peerlessPurgeTimeout: null });
    assert.equal(hot.current.avMaxCpu, 1.5);
  });

  it('treats room timeouts of 0 and none as never', async () => {
    for (const never of ['0', 'none']) {
      const { hot } = await load({ SVC_PEER_DISCONNECTED_TIMEOUT: never, SVC_PEERLESS_PURGE_TIMEOUT: never });
      assert.deepEqual(hot.current.roomDefaults, { peerDisconnectedTimeout: null, peerlessPurgeTimeout: null });
    }
  });

  it('is deeply frozen', async () => {
    const { config, hot } = await load();
    for (const each of [config, config.webrtc, config.dist.strategy, hot.current, hot.current.limits, hot.current.apiTokens])
      assert.ok(Object.isFrozen(each));
  });

  it('accepts every documented default as a value of the environment', async () => {
    const env = Object.fromEntries(variables.map((variable) => [`SVC_${variable.env}`, defaultText(variable)]));
    const { config } = await load(env);
    assert.deepEqual(config, (await load()).config);
  });

  it('accepts the values of the image together with a token', async () => {
    const env = Object.fromEntries(variables.map((variable) => [`SVC_${variable.env}`, variable.image]));
    const { config, hot, warnings } = await load({ ...env, SVC_SERVER_API_TOKEN: 'a-token-of-some-length' });
    assert.deepEqual(
      [config.host, config.webrtc.announced, config.webrtc.basePort],
      ['192.0.2.10:8080', { addresses: ['192.0.2.10'] }, 50_000],
    );
    assert.deepEqual([config.drainTimeout, config.shutdownDelay], [3_600_000, 5_000]);
    assert.deepEqual([config.dist.ports, hot.developmentToken], [{ min: 9000, max: 9000 }, undefined]);
    assert.equal(warnings.length, 2);
    assert.match(warnings.join('\n'), /clients get 192\.0\.2\.10:8080[\s\S]*clients receive 192\.0\.2\.10,/);
  });
});

describe('development mode', () => {
  const modeOf = async (env: Environment) => {
    const { hot } = await load(env);
    return { token: hot.developmentToken, effective: hot.current.apiTokens.map(({ token }) => token), cors: hot.current.corsOrigins };
  };

  it('generates a token per start and allows no page of another origin', async () => {
    const [one, other] = [await modeOf({}), await modeOf({ SVC_HOST: 'localhost:5002/rooms' })];
    assert.match(one.token ?? '', /^[\w-]{24}$/);
    assert.notEqual(one.token, other.token);
    assert.deepEqual([one.effective, one.cors, other.cors], [[one.token], [], []]);
    assert.deepEqual((await modeOf({ SVC_CORS_ORIGINS: '*' })).cors, ['*']);
  });

  it('has no warning, except for a configured token that is short', async () => {
    assert.deepEqual((await load()).warnings, []);
    const { warnings } = await load({ SVC_SERVER_API_TOKEN: `${'t'.repeat(16)} development` });
    assert.deepEqual(warnings, ['An API token is shorter than 16 characters and can be guessed (try: openssl rand -hex 24)']);
  });

  it('ends with a configured token', async () => {
    assert.deepEqual(await modeOf({ SVC_SERVER_API_TOKEN: 'development' }), {
      token: undefined,
      effective: ['development'],
      cors: ['*'],
    });
  });

  it('is not available with a public address', async () => {
    for (const SVC_HOST of ['rooms.example', '192.0.2.1:5002', '[2001:db8::1]:80', 'localhost.example'])
      await assert.rejects(load({ SVC_HOST }), /SVC_SERVER_API_TOKEN .* to be set if SVC_IP or SVC_HOST is not loopback, got: nothing/);
    for (const SVC_HOST of ['127.1.2.3', '[::1]:5002', 'rooms.localhost']) assert.ok((await modeOf({ SVC_HOST })).token);
  });
});

describe('names of variables', () => {
  it('reads LEGACY_ if SVC_ is unset or empty, with one warning', async () => {
    const { config, hot, warnings } = await load({
      LEGACY_PORT: '7001',
      SVC_PORT: ' ',
      LEGACY_MAX_ROOMS: '3',
      LEGACY_METRICS_PORT: '1',
      SVC_METRICS_PORT: '7002',
    });
    assert.deepEqual([config.port, hot.current.limits.maxRooms, config.metrics.port], [7001, 3, 7002]);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /: LEGACY_MAX_ROOMS, LEGACY_PORT$/);
  });

  it('falls back to LEGACY_ for every variable of the table', async () => {
    const wrong = Object.fromEntries([...knownNames].map((name) => [`LEGACY_${name}`, '\u0007 \u0007']));
    await assert.rejects(load(wrong), (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.deepEqual(
        Object.keys(wrong).filter((name) => !error.errors.some((message) => message.startsWith(`Expected ${name} `))),
        [],
      );
      return true;
    });
  });

  it('warns of unknown variables with the prefix', async () => {
    assert.deepEqual((await load({ SVC_PROT: '1', OTHER: 'x' })).warnings, ['Unknown variables, ignored: SVC_PROT']);
  });
});

describe('derived addresses', () => {
  const token = { SVC_SERVER_API_TOKEN: 'a-token-of-some-length' };

  it('puts IPv6 in brackets', async () => {
    assert.equal((await load({ SVC_IP: '::1' })).config.host, '[::1]:5002');
  });

  it('uses the host of the node name if IP is a wildcard and the name is set', async () => {
    const { config, warnings } = await load({
      ...token,
      SVC_IP: '0.0.0.0',
      SVC_DIST_ENABLED: 'true',
      SVC_DIST_NODE_NAME: 'svc@node1',
      SVC_SECRET_KEY_BASE: 'k'.repeat(32),
    });
    assert.deepEqual([config.host, config.internalAddress], ['node1:5002', 'node1:5002']);
    assert.match(warnings.join(), /SVC_HOST is not set/);
  });

  it('keeps HOST with a path unchanged, and INTERNAL_ADDRESS independently', async () => {
    const { config, warnings } = await load({
      ...token,
      SVC_IP: '::',
      SVC_HOST: 'rooms.example/n/0',
      SVC_INTERNAL_ADDRESS: '10.0.0.7:8080',
    });
    assert.deepEqual([config.host, config.internalAddress, warnings], ['rooms.example/n/0', '10.0.0.7:8080', []]);
  });

  it('replaces port 0 by the actual port', async () => {
    const { config } = await load({ SVC_PORT: '0', SVC_METRICS_PORT: '0' });
    assert.equal(withActualPort(config.host, 4711), '127.0.0.1:4711');
    assert.equal(withActualPort('rooms.example:80', 4711), 'rooms.example:80');
  });

  it('resolves the listen address and announced host names, with the family of the listen address', async () => {
    const { config } = await load({
      SVC_WEBRTC_TURN_LISTEN_IP: 'known.example',
      SVC_WEBRTC_TURN_IP: 'known.example 198.51.100.1 198.51.100.1',
    });
    assert.equal(config.webrtc.listenIp, '192.0.2.7');
    assert.deepEqual(config.webrtc.announced, { addresses: ['192.0.2.7', '198.51.100.1'] });
  });

  it('rounds a fraction of cores down to workers, at least one', async () => {
    assert.equal((await load({}, { cores: async () => 2.7 })).config.webrtc.workers, 2);
    const small = await load({}, { cores: async () => 0.3 });
    assert.deepEqual([small.config.webrtc.workers, small.hot.current.avMaxCpu], [1, 0.5]);
  });
});

describe('distribution', () => {
  const enabled = { SVC_DIST_ENABLED: 'true', SVC_SECRET_KEY_BASE: `${'k'.repeat(32)} ${'o'.repeat(32)}` };

  it('derives the cookie from the first key, identically on every node', async () => {
    const [one, two, other] = await Promise.all([
      load(enabled),
      load({ ...enabled, SVC_PORT: '1' }),
      load({ ...enabled, SVC_SECRET_KEY_BASE: 'x'.repeat(32) }),
    ]);
    assert.equal(one.config.dist.cookie, two.config.dist.cookie);
    assert.notEqual(one.config.dist.cookie, other.config.dist.cookie);
    assert.match(one.config.dist.cookie, /^[\w-]{43}$/);
    assert.deepEqual([one.config.dist.ip, one.warnings], [null, []]);
  });

  it('accepts the public default cookie on loopback only, and warns about keys of one node only', async () => {
    const open = { SVC_DIST_ENABLED: 'true' };
    const known = /Expected SVC_DIST_COOKIE or SVC_SECRET_KEY_BASE to be set if the distribution listens beyond loopback/;
    for (const more of [
      {},
      { SVC_DIST_IP: '0.0.0.0' },
      { SVC_DIST_COOKIE: 'svc_cookie' },
      { SVC_DIST_MODE: 'name', SVC_DIST_NODE_NAME: 'a@192.0.2.10' },
    ])
      await assert.rejects(load({ ...open, ...more }), known);
    const local = { ...open, SVC_DIST_NODE_NAME: 'a@localhost' };
    for (const more of [{ SVC_DIST_IP: '127.0.0.1' }, local]) {
      const { config, warnings } = await load({ ...open, ...more }, { resolve: async () => ['::1', '127.0.0.1'] });
      assert.deepEqual([config.dist.cookie, config.dist.ip, warnings.length], ['svc_cookie', '127.0.0.1', 1]);
    }
  });

  it('reads the cookie from a file, without a line break at its end', async (t) => {
    const file = join(tempFolder(t), 'cookie');
    for (const text of ['cookie-of-a-file', 'cookie-of-a-file\n', 'cookie-of-a-file\r\n']) {
      await writeFile(file, text);
      const { config } = await load({ SVC_DIST_ENABLED: 'true', SVC_DIST_COOKIE_FILE: file, SVC_SECRET_KEY_BASE: 's'.repeat(32) });
      assert.equal(config.dist.cookie, 'cookie-of-a-file');
    }
  });

  it('names a node by its address with DNS and listens there', async () => {
    const { config } = await load({ ...enabled, SVC_DIST_MODE: 'name', SVC_DIST_STRATEGY_NAME: 'DNS', SVC_DIST_QUERY: 'svc.example' });
    assert.deepEqual([config.dist.nodeName, config.dist.ip], ['svc@192.0.2.10', '192.0.2.10']);
    assert.deepEqual(config.dist.strategy, { name: 'DNS', query: 'svc.example', pollingInterval: 5000 });
  });

  it('listens on all addresses with a warning if the host of the node name is not local', async () => {
    const { config, warnings } = await load({ ...enabled, SVC_DIST_MODE: 'name', SVC_DIST_NODE_NAME: 'svc@203.0.113.9' });
    assert.equal(config.dist.ip, null);
    assert.match(warnings.join(), /not a local address/);
  });

  it('shortens the host name in sname mode', async () => {
    assert.equal((await load(enabled, { hostname: () => 'a.b.example' })).config.dist.nodeName, 'svc@a');
    assert.equal(
      (await load({ ...enabled, SVC_DIST_MODE: 'name' }, { hostname: () => 'a.b.example' })).config.dist.nodeName,
      'svc@a.b.example',
    );
  });
});

describe('secrets', () => {
  const secretNames = variables.filter(({ secret }) => secret).map(({ env }) => env);

  it('are never part of an error message', async () => {
    for (let round = 0; round < 200; round += 1) {
      const secrets = secretNames.map((name) => {
        const text = randomBytes(12).toString('base64url');
        return { name, text: round % 3 === 0 ? `${text}\u0001` : round % 3 === 1 ? `[{"urls": "${text}"}]` : `whsec_${text}`, seed: text };
      });
      const env = Object.fromEntries(secrets.map(({ name, text }) => [`${round % 2 ? 'SVC' : 'LEGACY'}_${name}`, text]));
      await assert.rejects(load({ ...env, SVC_PORT: 'x' }), (error: unknown) => {
        assert.ok(error instanceof ConfigError && error.errors.length >= 2, String(error));
        for (const { seed } of secrets) assert.ok(!error.message.includes(seed), error.message);
        return true;
      });
    }
  });

  it('are shown as set or unset in the description of the configuration', async () => {
    for (let round = 0; round < 50; round += 1) {
      const seed = () => randomBytes(24).toString('base64url');
      const env = {
        SVC_SERVER_API_TOKEN: `${seed()} ${seed()}`,
        SVC_SERVER_API_READ_TOKEN: seed(),
        SVC_SECRET_KEY_BASE: `${seed()}`,
        SVC_ACCESS_KEYS: `backend=${seed()}`,
        SVC_ICE_SERVERS: JSON.stringify([{ urls: 'turn:turn.example', username: seed(), credential: seed() }]),
        SVC_S3_BUCKET: 'recordings',
        SVC_S3_ACCESS_KEY_ID: seed(),
        SVC_S3_SECRET_ACCESS_KEY: seed(),
        SVC_WEBHOOK_URLS: `https://hooks.example/${seed()}`,
        SVC_WEBHOOK_LIVEKIT_URLS: `https://hooks.example/${seed()}`,
        SVC_WEBHOOK_SECRET: `whsec_${randomBytes(24).toString('base64')}`,
        SVC_DIST_COOKIE: seed(),
      };
      for (const { env: name, secret } of variables) assert.ok(!secret || `SVC_${name}` in env, name);
      const { config, hot, warnings } = await load(env);
      const text = JSON.stringify(describeConfig(config, hot)) + warnings.join();
      const parts = Object.entries(env)
        .filter(([name]) => name !== 'SVC_S3_BUCKET')
        .flatMap(([name, value]) =>
          name === 'SVC_ICE_SERVERS' ? JSON.parse(value).flatMap(Object.values).slice(1) : value.replace('backend=', '').split(' '),
        );
      for (const part of parts) assert.ok(!text.includes(part), part);
      assert.match(text, /"bucket":"recordings"/);
      assert.match(text, /"cookie":"set"/);
    }
  });

  it('shows unset values as unset', async () => {
    const { config, hot } = await load();
    const { settings } = describeConfig(config, hot) as { settings: Record<string, unknown> };
    assert.deepEqual([settings.secretKeys, settings.iceServers, settings.s3], ['unset', 'unset', null]);
  });
});
