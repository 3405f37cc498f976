// What the operator takes from its environment and command line.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, readConfig } from '../../../operator/config.ts';

function errorsOf(environment: NodeJS.ProcessEnv, args: string[] = []): readonly string[] {
  try {
    readConfig(environment, args);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.errors;
  }
  return [];
}

test('with nothing set it watches its own namespace only, leads by a Lease, and says what it is', () => {
  const config = readConfig({ OPERATOR_NAMESPACE: 'media' }, []);
  assert.deepEqual(config.namespaces, ['media']);
  assert.equal(config.leaderElection, true);
  assert.equal(config.task, 'run');
  assert.match(config.identity, /_\d+$/);
  // Of both families: where pods have addresses of IPv6 only, the kubelet comes by these.
  assert.equal(config.ip, '::');
});

test('an empty list of namespaces never widens what is watched: only a star does', () => {
  assert.deepEqual(readConfig({ OPERATOR_NAMESPACE: 'a', OPERATOR_WATCH_NAMESPACES: ' ' }, []).namespaces, ['a']);
  assert.deepEqual(readConfig({ OPERATOR_WATCH_NAMESPACES: 'a b a' }, []).namespaces, ['a', 'b']);
  assert.deepEqual(readConfig({ OPERATOR_WATCH_NAMESPACES: '*' }, []).namespaces, []);
});

test('all mistakes are told at once, each with what was expected and what was got', () => {
  const environment = {
    OPERATOR_PORT: '70000',
    OPERATOR_LEADER_ELECTION: 'yes',
    OPERATOR_LOG_LEVEL: 'loud',
    OPERATOR_WATCH_NAMESPACES: '* a',
  };
  assert.deepEqual(errorsOf(environment), [
    'Expected OPERATOR_WATCH_NAMESPACES to be `*` alone, or names of namespaces, got: * a',
    'Expected OPERATOR_LEADER_ELECTION to be true or false, got: yes',
    'Expected OPERATOR_PORT to be an integer from 0 to 65535, got: 70000',
    'Expected OPERATOR_LOG_LEVEL to be error, warning, info, debug, got: loud',
  ]);
});

test('the command line takes --once and --kubeconfig, which wins over the environment, and nothing else', () => {
  const config = readConfig({ KUBECONFIG: '/a' }, ['--once', '--kubeconfig', '/b']);
  assert.deepEqual([config.task, config.kubeconfig], ['once', '/b']);
  assert.match(errorsOf({}, ['--twice'])[0] ?? '', /^Wrong command line: Unknown option '--twice'/);
});

test('a smoke test has an address and a folder of tokens', () => {
  const { task, smoke } = readConfig({}, ['--smoke', 'http://rooms:8080', '--tokens', '/tokens']);
  assert.deepEqual([task, smoke], ['smoke', { url: 'http://rooms:8080', tokens: '/tokens', media: true }]);
  assert.equal(readConfig({}, ['--smoke', 'http://a', '--tokens', '/t', '--no-media']).smoke.media, false);
  assert.deepEqual(errorsOf({}, ['--smoke', 'rooms']), [
    'Expected --smoke to be http:// or https:// with a host, got: rooms',
    'Expected --tokens to be set together with --smoke',
  ]);
});

test('an end before an uninstall has a time; two tasks at once are a mistake', () => {
  const config = readConfig({}, ['--uninstall', '--timeout', '30', '--release', 'rooms']);
  assert.deepEqual([config.task, config.timeout, config.release], ['uninstall', 30_000, 'rooms']);
  assert.deepEqual(errorsOf({}, ['--uninstall', '--once', '--timeout', 'soon', '--release', 'a,b']), [
    'Expected --release to be the name of a release',
    'Expected only one of --once, --uninstall and --smoke, got: --once and --uninstall',
    'Expected --timeout to be a number of seconds, got: soon',
  ]);
});
