// Every error message of an invalid configuration.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError } from '../../../node/config/reader.ts';
import type { ConfigSystem } from '../../../node/config/system.ts';
import { loadConfig } from '../../../node/config.ts';
import type { Environment } from '../../../node/env.ts';
import { testSystem } from '../../kit/fakes/config.ts';

async function configErrors(env: Environment, system: Partial<ConfigSystem> = {}): Promise<readonly string[]> {
  try {
    await loadConfig(env, testSystem(system));
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.errors;
  }
  return [];
}

const hidden = 'a value that is not shown here';
const dist = { SVC_DIST_ENABLED: 'true', SVC_DIST_COOKIE: 'a_cookie' };
const address = 'to be host[:port][/path] without a scheme, with IPv6 in brackets';
const turn = { SVC_WEBRTC_TURN_ENABLED: 'true', SVC_WEBRTC_TURN_TLS_PORT: '5349' };
const s3 = 'Expected SVC_S3_BUCKET, SVC_S3_ACCESS_KEY_ID and SVC_S3_SECRET_ACCESS_KEY (s3.* in files) to be set all or none';

const wrong = (name: string, text: string, expected: string, got = text): [Environment, string] => [
  { [name]: text },
  `Expected ${name} ${expected}, got: ${got}`,
];

const single: [Environment, string][] = [
  wrong('SVC_IP', 'localhost', 'to be an IP address'),
  wrong('LEGACY_IP', '1.2.3', 'to be an IP address'),
  wrong('SVC_PORT', '65536', 'to be a port from 0 to 65535'),
  wrong('SVC_PORT', '80.5', 'to be a port from 0 to 65535'),
  wrong('SVC_PORT', 'none', 'to be a port from 0 to 65535'),
  wrong('SVC_PORT', '-1', 'to be a port from 0 to 65535'),
  wrong('SVC_PORT', '9568', 'and SVC_METRICS_PORT to be different', '9568 for both'),
  wrong('SVC_PORT', 'tcp://user:pass@10.0.0.1:80', 'to be a port from 0 to 65535', 'tcp://***@10.0.0.1:80'),
  wrong('SVC_PORT', '8\n0', 'to be a port from 0 to 65535', '"8\\n0"'),
  [{ SVC_PORT: '9'.repeat(500) }, `Expected SVC_PORT to be a port from 0 to 65535, got: ${'9'.repeat(100)}...`],
  wrong('SVC_HOST', 'https://rooms.example', address),
  wrong('SVC_HOST', 'rooms.example:0', address),
  wrong('SVC_HOST', '::1', address),
  wrong('SVC_HOST', 'rooms.example/a/../b', address),
  wrong('SVC_HOST', 'rooms.example?a', address),
  wrong('SVC_INTERNAL_ADDRESS', 'a/b', 'to be host[:port] without a scheme and path, with IPv6 in brackets'),
  [
    { SVC_IP: '0.0.0.0', SVC_HOST: 'a' },
    'Expected SVC_SERVER_API_TOKEN (or apiTokens in a file of SVC_CONFIG_FILES) to be set if SVC_IP or SVC_HOST is not loopback, got: nothing',
  ],
  wrong('SVC_SERVER_API_TOKEN', 'tökén', 'to be visible ASCII characters without spaces, at most 1024', hidden),
  wrong('SVC_SERVER_API_READ_TOKEN', 'tökén', 'to be visible ASCII characters without spaces, at most 1024', hidden),
  [
    { SVC_SERVER_API_TOKEN: 'same other', SVC_SERVER_API_READ_TOKEN: 'same' },
    'Expected SVC_SERVER_API_READ_TOKEN (apiReadTokens in files) to have no admin token, got: one of SVC_SERVER_API_TOKEN (apiTokens)',
  ],
  wrong('SVC_ACCESS_KEYS', 'no-secret', 'to be an id of 1 to 64 letters, digits and ._-', hidden),
  wrong('SVC_ACCESS_KEYS', 'backend=short', 'to be a secret of 32 to 4096 characters without spaces', hidden),
  wrong('SVC_ACCESS_KEYS', `a=${'x'.repeat(32)} a=${'y'.repeat(32)}`, 'to have each id once', hidden),
  wrong('SVC_ACCESS_TOKEN_MAX_TTL', '59', 'to be a number of seconds from 60 to 31536000'),
  wrong('SVC_COMPONENTS_USED', 'hls rtsp', 'to be one of hls, recording, sip, file'),
  wrong('SVC_LOG_LEVEL', 'warn', 'to be one of error, warning, info, debug'),
  wrong('SVC_STRUCTURED_LOGGING', '1', 'to be true or false'),
  [{ SVC_SSL_KEY_PATH: 'k' }, 'Expected SVC_SSL_KEY_PATH and SVC_SSL_CERT_PATH to be set both or neither, got only: SVC_SSL_KEY_PATH'],
  [
    { SVC_CHECK_ORIGIN: 'app.example' },
    'Expected SVC_CHECK_ORIGIN to be true, false or origins such as https://app.example, separated by spaces, got: app.example',
  ],
  wrong('SVC_CORS_ORIGINS', 'https://a.example/path', 'to be * or origins such as https://app.example'),
  ...['true', '10.0.0.0/33', '0', '17', '1 2'].map((text): [Environment, string] => [
    { SVC_TRUST_PROXY: text },
    `Expected SVC_TRUST_PROXY to be false, a number of proxies from 1 to 16, networks such as 10.0.0.0/8, or both, got: ${text}`,
  ]),
  wrong('SVC_WEBRTC_TURN_LISTEN_IP', '1.2.3.400', 'to be an IP address or a host name'),
  wrong('SVC_WEBRTC_TURN_LISTEN_IP', 'gone.example', 'to be a host name that DNS resolves'),
  wrong('SVC_WEBRTC_TURN_IP', '1.2.3.4 gone.example', 'to have only host names that DNS resolves'),
  [
    { SVC_WEBRTC_TURN_IP: '1.2.3.4', SVC_WEBRTC_TURN_IP_FILE: '/f' },
    'Expected only one of SVC_WEBRTC_TURN_IP and SVC_WEBRTC_TURN_IP_FILE to be set, got: both',
  ],
  wrong('SVC_WEBRTC_BASE_PORT', '65535', 'to leave room for the ports of 2 workers below 65536'),
  wrong('SVC_WEBRTC_WORKERS', '0', 'to be a whole number from 1 to 256'),
  [
    turn,
    'Expected SVC_WEBRTC_TURN_TLS_PORT to be set only together with SVC_WEBRTC_TURN_TLS_KEY_PATH and _CERT_PATH, or SVC_SSL_KEY_PATH and _CERT_PATH, got: 5349',
  ],
  [
    { SVC_WEBRTC_TURN_TLS_KEY_PATH: 'key.pem' },
    'Expected SVC_WEBRTC_TURN_TLS_KEY_PATH and SVC_WEBRTC_TURN_TLS_CERT_PATH to be set both or neither, got only: SVC_WEBRTC_TURN_TLS_KEY_PATH',
  ],
  [
    { SVC_WEBRTC_TURN_TLS_HOST: 'a.*.example' },
    'Expected SVC_WEBRTC_TURN_TLS_HOST to be an IP address, a host name, or * with the end of one, got: a.*.example',
  ],
  wrong('SVC_ICE_SERVERS', '{', 'to be a list of {urls, username, credential}', hidden),
  wrong('SVC_ICE_SERVERS', '[{"urls":"http://x"}]', 'to be a stun:, stuns:, turn: or turns: URL', hidden),
  wrong('SVC_ICE_SERVERS', '[{"urls":"turn:x"}]', 'to have username and credential if a URL is turn: or turns:', hidden),
  wrong('SVC_SIP_RTP_PORTS', '10019-10000', 'to be a range of ports such as 10000-10019, the first not above the second'),
  [{ SVC_S3_BUCKET: 'b1b' }, `${s3}, got only: s3.bucket`],
  [{ SVC_S3_ACCESS_KEY_ID: 'a', SVC_S3_SECRET_ACCESS_KEY: 'b' }, `${s3}, got only: s3.accessKeyId, s3.secretAccessKey`],
  wrong('SVC_S3_ENDPOINT', 'https://u:p@s3', 'to be an http or https URL without a user, a query and a fragment', 'https://***@s3'),
  wrong('SVC_S3_PATH_PREFIX', 'a/../b', 'to be a prefix of object keys without .. and a leading /'),
  [
    { ...dist, SVC_DIST_NODE_NAME: 'svc@a.example' },
    'Expected SVC_DIST_NODE_NAME to have a host without a dot while SVC_DIST_MODE is sname, got: svc@a.example',
  ],
  [
    { ...dist, SVC_DIST_MODE: 'name', SVC_DIST_NODE_NAME: 'svc@a' },
    'Expected SVC_DIST_NODE_NAME to have a host with a dot or an IP address while SVC_DIST_MODE is name, got: svc@a',
  ],
  [
    { ...dist, SVC_DIST_MODE: 'name' },
    'Expected SVC_DIST_NODE_NAME to be set while SVC_DIST_MODE is name and the host name has no dot, got: nothing',
  ],
  wrong('SVC_DIST_NODE_NAME', 'svc', 'to be <nodename>@<host>'),
  wrong('SVC_DIST_NODE_NAME', 'svc@', 'to be <nodename>@<host>'),
  wrong('SVC_DIST_NODES', 'svc@a b', 'to be <nodename>@<host>'),
  [
    { ...dist, SVC_DIST_NODES: 'svc@a svc@b.c' },
    'Expected SVC_DIST_NODES to have a host without a dot while SVC_DIST_MODE is sname, got: svc@b.c',
  ],
  [
    { ...dist, SVC_DIST_STRATEGY_NAME: 'DNS', SVC_DIST_QUERY: 'q.example' },
    'Expected SVC_DIST_MODE to be name with SVC_DIST_STRATEGY_NAME=DNS, got: sname',
  ],
  [
    { ...dist, SVC_DIST_STRATEGY_NAME: 'DNS', SVC_DIST_MODE: 'name' },
    'Expected SVC_DIST_QUERY to be set with SVC_DIST_STRATEGY_NAME=DNS, got: nothing',
  ],
  wrong('SVC_DIST_STRATEGY_NAME', 'dns', 'to be one of NODES_LIST, DNS'),
  [
    { SVC_DIST_MIN_PORT: '9001', SVC_DIST_MAX_PORT: '9000' },
    'Expected SVC_DIST_MIN_PORT and SVC_DIST_MAX_PORT to be a nonempty range, got: 9001 to 9000',
  ],
  [
    { SVC_DIST_MAX_PORT: '9000' },
    'Expected SVC_DIST_MIN_PORT and SVC_DIST_MAX_PORT to be set both or neither, got only: SVC_DIST_MAX_PORT',
  ],
  [
    { SVC_DIST_COOKIE: 'two words' },
    `Expected SVC_DIST_COOKIE to be 1 to 255 visible ASCII characters without spaces and line breaks, got: ${hidden}`,
  ],
  [
    { SVC_DIST_COOKIE: 'a_cookie', SVC_DIST_COOKIE_FILE: '/f' },
    'Expected only one of SVC_DIST_COOKIE and SVC_DIST_COOKIE_FILE to be set, got: both',
  ],
  [{ SVC_DIST_COOKIE_FILE: '/nowhere' }, 'Expected SVC_DIST_COOKIE_FILE to be a readable file, got: /nowhere (ENOENT)'],
  [
    { SVC_DIST_COOKIE_FILE: 'tsconfig.json' },
    `Expected SVC_DIST_COOKIE_FILE to contain 1 to 255 visible ASCII characters without spaces and line breaks, got: ${hidden}`,
  ],
  [{ SVC_PEER_RESUME_WINDOW: '1e9' }, 'Expected SVC_PEER_RESUME_WINDOW to be a number of seconds from 0 to 86400, got: 1e9'],
  wrong('SVC_PEER_DISCONNECTED_TIMEOUT', '-1', 'to be a number of seconds from 0 to 315360000'),
  wrong('SVC_WEBHOOK_SECRET', 'whsec_c2hvcnQ=', 'to be whsec_ followed by the base64 of 24 to 64 bytes', hidden),
  wrong('SVC_WEBHOOK_URLS', 'ftp://x', 'to be an http or https URL', hidden),
  wrong('SVC_AV_MAX_CPU', 'all', 'to be a number of cores, 0 to 1024'),
  [
    { SVC_DIST_ENABLED: 'true' },
    'Expected SVC_DIST_COOKIE or SVC_SECRET_KEY_BASE to be set if the distribution listens beyond loopback (SVC_DIST_IP), got: the public default cookie',
  ],
  [{ SVC_CONFIG_FILES: '/nowhere/a.yaml' }, 'Expected /nowhere/a.yaml to be a readable file of at most 1 MiB, got: ENOENT'],
  [{ SVC_CONFIG_FILES: '/dev/zero' }, 'Expected /dev/zero to be a readable file of at most 1 MiB, got: something else'],
];

describe('an invalid configuration', () => {
  for (const [env, message] of single) {
    const name = Object.entries(env)
      .map((pair) => pair.join('=').slice(0, 60))
      .join(' ');
    it(`has one error message: ${JSON.stringify(name)}`, async () => assert.deepEqual(await configErrors(env), [message]));
  }

  it('reports all errors at once', async () => {
    const found = await configErrors({
      SVC_PORT: 'a',
      SVC_LOG_LEVEL: 'b',
      SVC_DIST_TICK: 'c',
      SVC_IP: '0.0.0.0',
      SVC_MAX_ROOMS: 'd',
      SVC_CONFIG_FILES: '/nowhere',
    });
    assert.equal(found.length, 5);
    assert.equal((await configErrors({ SVC_IP: '0.0.0.0', SVC_MAX_ROOMS: 'd' })).length, 2);
  });

  it('names directories and files that are not usable', async () => {
    const system = { makeWritable: async () => 'EACCES', unreadable: async (file: string) => (file === 'key' ? 'ENOENT' : undefined) };
    assert.deepEqual(await configErrors({ SVC_RESOURCES_BASE_PATH: '/res', SVC_SSL_KEY_PATH: 'key', SVC_SSL_CERT_PATH: 'cert' }, system), [
      'Expected SVC_SSL_KEY_PATH to be a readable file, got: key (ENOENT)',
      'Expected SVC_RESOURCES_BASE_PATH to be a writable directory, got: /res (EACCES)',
    ]);
  });

  it('ignores distribution settings while distribution is off', async () => {
    assert.deepEqual(await configErrors({ SVC_DIST_STRATEGY_NAME: 'DNS', SVC_DIST_NODE_NAME: 'svc@a.example' }), []);
  });
});
