// Configuration of the operator from environment and command line.
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

test('the defaults watch the local namespace only and use leader election', () => {
  const config = readConfig({ OPERATOR_NAMESPACE: 'media' }, []);
  assert.deepEqual(config.namespaces, ['media']);
  assert.equal(config.leaderElection, true);
  assert.equal(config.task, 'run');
  assert.match(config.identity, /_\d+$/);
  // Both families: with IPv6-only pods the kubelet uses these addresses.
  assert.equal(config.ip, '::');
});

test('an empty list of namespaces does not select all namespaces, only a star does', () => {
  assert.deepEqual(readConfig({ OPERATOR_NAMESPACE: 'a', OPERATOR_WATCH_NAMESPACES: ' ' }, []).namespaces, ['a']);
  assert.deepEqual(readConfig({ OPERATOR_WATCH_NAMESPACES: 'a b a' }, []).namespaces, ['a', 'b']);
  assert.deepEqual(readConfig({ OPERATOR_WATCH_NAMESPACES: '*' }, []).namespaces, []);
});

test('the cluster domain is cluster.local unless it is set to another DNS domain', () => {
  assert.equal(readConfig({}, []).clusterDomain, 'cluster.local');
  assert.equal(readConfig({ OPERATOR_CLUSTER_DOMAIN: 'k8s.example' }, []).clusterDomain, 'k8s.example');
  assert.deepEqual(errorsOf({ OPERATOR_CLUSTER_DOMAIN: 'k8s..example' }), [
    'Expected OPERATOR_CLUSTER_DOMAIN to be a DNS domain, got: k8s..example',
  ]);
});

test('all errors are reported together, each with the expected and the given value', () => {
  const environment = {
    OPERATOR_PORT: '70000',
    OPERATOR_LEADER_ELECTION: 'yes',
    OPERATOR_LOG_LEVEL: 'loud',
    OPERATOR_WATCH_NAMESPACES: '* a',
  };
  assert.deepEqual(errorsOf(environment), [
    'Expected OPERATOR_WATCH_NAMESPACES to be `*` alone, or namespaces, got: * a',
    'Expected OPERATOR_LEADER_ELECTION to be true or false, got: yes',
    'Expected OPERATOR_PORT to be an integer from 0 to 65535, got: 70000',
    'Expected OPERATOR_LOG_LEVEL to be error, warning, info, debug, got: loud',
  ]);
});

test('the command line accepts --once and --kubeconfig, which overrides the environment, and no unknown options', () => {
  const config = readConfig({ KUBECONFIG: '/a' }, ['--once', '--kubeconfig', '/b']);
  assert.deepEqual([config.task, config.kubeconfig], ['once', '/b']);
  assert.match(errorsOf({}, ['--twice'])[0] ?? '', /^Invalid command line: Unknown option '--twice'/);
});

test('a smoke test needs an address and a folder of tokens', () => {
  const { task, smoke } = readConfig({}, ['--smoke', 'http://rooms:8080', '--tokens', '/tokens']);
  assert.deepEqual([task, smoke], ['smoke', { url: 'http://rooms:8080', tokens: '/tokens', media: true }]);
  assert.equal(readConfig({}, ['--smoke', 'http://a', '--tokens', '/t', '--no-media']).smoke.media, false);
  assert.deepEqual(errorsOf({}, ['--smoke', 'rooms']), [
    'Expected --smoke to be http:// or https:// with a host, got: rooms',
    'Expected --tokens to be set together with --smoke',
  ]);
});

test('uninstall has a timeout, and two tasks are an error', () => {
  const config = readConfig({}, ['--uninstall', '--timeout', '30', '--release', 'rooms']);
  assert.deepEqual([config.task, config.timeout, config.release], ['uninstall', 30_000, 'rooms']);
  assert.deepEqual([config.deleteResources, config.deleteClaims], [false, false]);
  const all = readConfig({}, ['--uninstall', '--delete-resources', '--delete-claims']);
  assert.deepEqual([all.deleteResources, all.deleteClaims], [true, true]);
  assert.deepEqual(errorsOf({}, ['--uninstall', '--delete-claims']), [
    'Expected --delete-claims to be set together with --delete-resources',
  ]);
  assert.deepEqual(errorsOf({}, ['--uninstall', '--once', '--timeout', 'soon', '--release', 'a,b']), [
    'Expected --release to be a release name',
    'Expected only one of --once, --uninstall and --smoke, got: --once and --uninstall',
    'Expected --timeout to be a number of seconds, got: soon',
  ]);
});
