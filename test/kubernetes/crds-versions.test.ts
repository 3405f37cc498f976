// Versions of the CRD of Room: the API server changes only apiVersion, so objects of both forms keep all fields in both versions.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { startApiServer } from '../kit/kube/api-server.ts';

const server = await startApiServer({ after });

const s3 = { bucket: 'calls', secretRef: { name: 'keys' } };
const old = (name: string, components: object[]) =>
  stringify({ apiVersion: 'mediarooms.dev/v1alpha1', kind: 'Room', metadata: { name }, spec: { components } });
const current = (name: string, components: object[]) => old(name, components).replace('v1alpha1', 'v1alpha2');
const oldForm = [
  { name: 'stream', type: 'hls', options: { layout: 'speaker' } },
  { name: 'tape', type: 'recording', options: { s3 } },
];
const currentForm = [
  { name: 'stream', hls: { layout: 'speaker' } },
  { name: 'tape', recording: { s3 } },
];

describe('The CRD of Room', () => {
  before(async () => {
    await run(['apply', '-f', join(import.meta.dirname, '../../crds')]);
    await run(['wait', '--for=condition=Established', 'crd/rooms.mediarooms.dev']);
  });

  async function run(args: readonly string[], input = ''): Promise<{ stdout: string; stderr: string }> {
    const { code, stdout, stderr } = await server.kubectl(args, { input });
    assert.equal(code, 0, stderr);
    return { stdout, stderr };
  }

  const componentsOf = async (name: string, version: string): Promise<unknown> =>
    JSON.parse((await run(['get', `rooms.${version}.mediarooms.dev`, name, '-o', 'json'])).stdout).spec.components;

  it('accepts a manifest of v1alpha1, reports how it is written now, and keeps all its fields in both versions', async () => {
    const { stderr } = await run(['apply', '-f', '-'], old('old', oldForm));
    assert.match(stderr, /Warning: mediarooms\.dev\/v1alpha1 Room is deprecated\. In mediarooms\.dev\/v1alpha2 a component is written as/);
    for (const version of ['v1alpha1', 'v1alpha2']) assert.deepEqual(await componentsOf('old', version), oldForm, version);
  });

  it('keeps all fields of v1alpha2 for clients that read v1alpha1', async () => {
    const { stderr } = await run(['apply', '-f', '-'], current('current', currentForm));
    assert.equal(stderr, '');
    for (const version of ['v1alpha1', 'v1alpha2']) assert.deepEqual(await componentsOf('current', version), currentForm, version);
  });

  it('lets a Room of v1alpha1 change in other fields and in its status through v1alpha2', async () => {
    await run(['patch', 'rooms.v1alpha2.mediarooms.dev', 'old', '--type=merge', '--patch', '{"spec":{"maxPeers":3}}']);
    const status = ['--subresource=status', '--type=merge', '--patch', '{"status":{"phase":"Ready"}}'];
    await run(['patch', 'rooms.v1alpha2.mediarooms.dev', 'old', ...status]);
    assert.deepEqual(await componentsOf('old', 'v1alpha2'), oldForm);
  });

  it('lets a manifest of v1alpha1 be replaced by one of v1alpha2', async () => {
    await run(['apply', '-f', '-'], current('old', currentForm));
    assert.deepEqual(await componentsOf('old', 'v1alpha2'), currentForm);
  });

  it('allows one hls component in either form', async () => {
    for (const text of [
      old('two', [...oldForm, { name: 'more', hls: {} }]),
      old('two', [...oldForm, { name: 'more', type: 'hls' }]),
      current('two', [...currentForm, { name: 'more', hls: {} }]),
    ]) {
      const { code, stderr } = await server.kubectl(['apply', '-f', '-'], { input: text });
      assert.equal(code, 1);
      assert.match(stderr, /a room has at most one component of type hls/);
    }
  });
});
