// CRDs in a real API server: accepted and rejected objects with their messages, defaults, and output of kubectl.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { apiVersions, mediaClusterSchema, roomSchema } from '../../crds/types.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { examples, type Manifest, manifests, refusals, writeManifests } from './manifests.ts';

const server = await startApiServer({ after });
const crds = join(import.meta.dirname, '../../crds');
const { folder, written } = writeManifests('refused', after);

describe('The CRDs of Room and MediaCluster', () => {
  before(async () => {
    await run(['apply', '-f', crds]);
    await run(['wait', '--for=condition=Established', 'crd/rooms.mediarooms.dev', 'crd/mediaclusters.mediarooms.dev']);
  });

  /** @returns the output of kubectl */
  async function run(args: readonly string[], input = ''): Promise<string> {
    const { code, stdout, stderr } = await server.kubectl(args, { input });
    assert.equal(code, 0, stderr);
    return stdout;
  }

  async function read(what: string): Promise<{ spec: Record<string, unknown>; metadata: { generation: number } }> {
    return JSON.parse(await run(['get', what, '-o', 'json']));
  }

  async function namespace(name: string): Promise<string[]> {
    await run(['create', 'namespace', name]);
    return ['--namespace', name];
  }

  it('are established with structural schemas', async () => {
    for (const name of ['rooms', 'mediaclusters']) {
      const { status } = JSON.parse(await run(['get', `crd/${name}.mediarooms.dev`, '-o', 'json'])) as {
        status: { conditions: { type: string; status: string }[] };
      };
      const conditions = Object.fromEntries(status.conditions.map((each) => [each.type, each.status]));
      assert.deepEqual(conditions, { NamesAccepted: 'True', Established: 'True' }, name);
    }
  });

  it('accept every example of examples/kubernetes', async () => {
    const files = readdirSync(examples);
    assert.ok(files.length >= 4);
    const there = await namespace('examples');
    const said = await run(['apply', ...there, '-f', examples]);
    assert.equal(
      said
        .trim()
        .split('\n')
        .filter((line) => line.endsWith(' created')).length,
      files.length,
    );
    // The stored objects are parsed by the schemas of the operator.
    const { items } = JSON.parse(await run(['get', 'mroom,mcl', ...there, '-o', 'json'])) as { items: { kind: string; spec: unknown }[] };
    const ours = files.filter((file) => readFileSync(join(examples, file), 'utf8').includes('apiVersion: mediarooms.dev/'));
    assert.equal(items.length, ours.length);
    for (const { kind, spec } of items) {
      const schema = kind === 'Room' ? roomSchema.shape.spec : mediaClusterSchema.shape.spec;
      assert.deepEqual(schema.parse(spec), spec);
    }
    const again = await run(['apply', ...there, '-f', examples]);
    assert.equal(
      again
        .trim()
        .split('\n')
        .filter((line) => line.endsWith(' unchanged')).length,
      files.length,
    );
  });

  it('reject each invalid manifest with its message and create nothing', async () => {
    assert.ok(written.length >= 70, `there are ${written.length}`);
    const there = await namespace('refused');
    const { stdout, stderr, code } = await server.kubectl(['apply', ...there, '-f', folder]);
    assert.notEqual(code, 0);
    assert.equal(stdout, '');
    assert.deepEqual(sorted(refusals(stderr)), sorted(messagesOf(written)));
    assert.deepEqual(JSON.parse(await run(['get', 'mroom,mcl', ...there, '-o', 'json'])).items, []);
  });

  it('reject invalid manifests by server-side apply too', async () => {
    const there = ['--namespace', 'refused'];
    const { stdout, stderr } = await server.kubectl(['apply', '--server-side', ...there, '-f', folder]);
    assert.equal(stdout, '');
    // For unknown fields and similar errors the merge fails before the schema, with other messages.
    assert.equal(stderr.match(/^Error from server/gm)?.length, written.length, stderr);
    assert.deepEqual(JSON.parse(await run(['get', 'mroom,mcl', ...there, '-o', 'json'])).items, []);
  });

  it('reject each change of an immutable field and keep the stored object', async () => {
    const changes = writeManifests('refused-changes', after);
    const there = await namespace('changes');
    await run(['apply', ...there, '-f', join(manifests, 'standing.yaml')]);
    const before = await run(['get', 'mroom,mcl', ...there, '-o', 'json']);
    const { stdout, stderr } = await server.kubectl(['apply', ...there, '-f', changes.folder]);
    assert.equal(stdout, '');
    assert.deepEqual(sorted(refusals(stderr)), sorted(messagesOf(changes.written)));
    assert.equal(await run(['get', 'mroom,mcl', ...there, '-o', 'json']), before);
  });

  it('report one error in one line for one manifest', async () => {
    const { stderr } = await server.kubectl(['apply', '-f', join(folder, 'room-webhook-without-scheme.yaml')]);
    assert.equal(
      stderr,
      'The Room "room-webhook-without-scheme" is invalid: spec.webhookUrl: Invalid value: "hooks.example.com/rooms": must be an http or https URL with a host and without a fragment\n',
    );
  });

  it('apply defaults, also without a spec', async () => {
    await run(['apply', '-f', '-'], stringify({ apiVersion: 'mediarooms.dev/v1alpha2', kind: 'Room', metadata: { name: 'bare' } }));
    assert.deepEqual((await read('mroom/bare')).spec, { recreate: 'Always' });
    const bare = { apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', metadata: { name: 'bare' } };
    await run(['apply', '-f', '-'], stringify(bare));
    assert.deepEqual((await read('mcl/bare')).spec, { replicas: 1, maxReplicas: 10, workersPerNode: 1 });
    const spec = { media: {}, autoscaling: { maxReplicas: 4 }, turn: {}, drain: {}, networkPolicy: {} };
    await run(['apply', '-f', '-'], stringify({ ...bare, metadata: { name: 'filled' }, spec }));
    assert.deepEqual((await read('mcl/filled')).spec, {
      replicas: 1,
      maxReplicas: 10,
      workersPerNode: 1,
      media: { exposure: 'nodePort' },
      autoscaling: {
        minReplicas: 1,
        maxReplicas: 4,
        targetForwardedTracks: 500,
        scaleUpOnRejectedRooms: true,
        bufferNodes: 0,
        scaleDownStabilizationSeconds: 300,
      },
      turn: { enabled: false },
      drain: { timeoutSeconds: 3600 },
      networkPolicy: { enabled: true },
    });
  });

  it('preserve metadata of peers and parts of Pods verbatim', async () => {
    const metadata = { name: 'Ann', nested: [{ a: 'b', c: 1.5 }, 'x', true], '': {} };
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }] } };
    const volume = { name: 'music', configMap: { name: 'music', items: [{ key: 'a', path: 'b' }] } };
    const objects = [
      {
        apiVersion: apiVersions.Room,
        kind: 'Room',
        metadata: { name: 'kept' },
        spec: {
          peers: [
            { name: 'ann', metadata },
            { name: 'bob', metadata: 'text' },
          ],
        },
      },
      {
        apiVersion: apiVersions.MediaCluster,
        kind: 'MediaCluster',
        metadata: { name: 'kept' },
        spec: { podTemplate: { affinity, volumes: [volume] } },
      },
    ];
    await run(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    assert.deepEqual((await read('mroom/kept')).spec.peers, [
      { name: 'ann', metadata },
      { name: 'bob', metadata: 'text' },
    ]);
    assert.deepEqual((await read('mcl/kept')).spec.podTemplate, { affinity, volumes: [volume] });
  });

  it('let two field managers own separate peers of one Room', async () => {
    const room = (...names: string[]) =>
      stringify({
        apiVersion: apiVersions.Room,
        kind: 'Room',
        metadata: { name: 'shared' },
        spec: { peers: names.map((name) => ({ name })) },
      });
    await run(['apply', '--server-side', '--field-manager=one', '-f', '-'], room('ann', 'bob'));
    await run(['apply', '--server-side', '--field-manager=two', '-f', '-'], room('cid'));
    await run(['apply', '--server-side', '--field-manager=one', '-f', '-'], room('ann'));
    assert.deepEqual((await read('mroom/shared')).spec.peers, [{ name: 'ann' }, { name: 'cid' }]);
  });

  it('increase the generation for the spec, not for the status', async () => {
    const { generation } = (await read('mroom/bare')).metadata;
    await run(['patch', 'mroom', 'bare', '--subresource=status', '--type=merge', '-p', '{"status":{"phase":"Pending"}}']);
    assert.equal((await read('mroom/bare')).metadata.generation, generation);
    await run(['patch', 'mroom', 'bare', '--type=merge', '-p', '{"spec":{"maxPeers":5},"status":{"phase":"Ready"}}']);
    const now = (await read('mroom/bare')) as { status?: unknown; metadata: { generation: number } };
    assert.deepEqual([now.metadata.generation, now.status], [generation + 1, { observedGeneration: -1, phase: 'Pending' }]);
  });

  it('support kubectl scale of a MediaCluster within its bounds', async () => {
    await run(['scale', 'mcl', 'bare', '--replicas=3']);
    assert.equal((await read('mcl/bare')).spec.replicas, 3);
    const beyond = await server.kubectl(['scale', 'mcl', 'bare', '--replicas=11']);
    assert.match(beyond.stderr, /spec.replicas: Invalid value: must not be above maxReplicas, which bounds paths and pod indexes/);
    const automatic = await server.kubectl(['scale', 'mcl', 'filled', '--replicas=2']);
    assert.match(automatic.stderr, /set replicas or autoscaling, not both/);
    const status = { status: { replicas: 2, selector: 'mediarooms.dev/cluster=bare' } };
    await run(['patch', 'mcl', 'bare', '--subresource=status', '--type=merge', '-p', JSON.stringify(status)]);
    const scale = JSON.parse(await run(['get', '--raw', '/apis/mediarooms.dev/v1alpha1/namespaces/default/mediaclusters/bare/scale']));
    assert.deepEqual([scale.spec, scale.status], [{ replicas: 3 }, { replicas: 2, selector: 'mediarooms.dev/cluster=bare' }]);
  });

  it('show a Room in one row, with more columns in -o wide', async () => {
    const status = {
      observedGeneration: (await read('mroom/bare')).metadata.generation,
      phase: 'Ready',
      node: 'svc@10.0.0.7',
      address: 'media.example.com/n/0',
      roomId: 'bare',
      peers: { total: 3, connected: 2 },
      legs: 2,
      componentsReady: '1/2',
      conditions: [
        { type: 'Ready', status: 'True', reason: 'AllThere', message: 'All is there.', lastTransitionTime: '2026-11-21T12:00:00Z' },
      ],
    };
    await run(['patch', 'mroom', 'bare', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]);
    const rows = async (...args: string[]) =>
      (await run(['get', ...args]))
        .trim()
        .split('\n')
        .map((line) => line.split(/\s{2,}/));
    const narrow = await rows('mroom', 'bare');
    assert.deepEqual(narrow[0], ['NAME', 'PHASE', 'NODE', 'PEERS', 'ADDRESS', 'AGE']);
    assert.deepEqual(narrow[1]?.slice(0, 5), ['bare', 'Ready', 'svc@10.0.0.7', '2', 'media.example.com/n/0']);
    const wide = await rows('room', 'bare', '-o', 'wide');
    assert.deepEqual(wide[0]?.slice(6), ['ROOMID', 'LEGS', 'COMPONENTS', 'REASON']);
    assert.deepEqual(wide[1]?.slice(6), ['bare', '2', '1/2', 'AllThere']);
    await run(['wait', '--for=condition=Ready', '--timeout=50s', 'mroom/bare']);
  });

  it('show a MediaCluster in one row, with more columns in -o wide', async () => {
    const condition = (type: string, status: string) => ({
      type,
      status,
      reason: 'Why',
      message: 'So.',
      lastTransitionTime: '2026-11-21T12:00:00Z',
    });
    const status = {
      ...{ readyReplicas: 2, desiredReplicas: 3, rooms: 7, forwardedTracks: 90, url: 'https://media.example.com' },
      conditions: [condition('Available', 'True'), condition('ConfigSynced', 'False')],
    };
    await run(['patch', 'mcl', 'bare', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]);
    const [head = '', row = ''] = (await run(['get', 'mediaclusters', 'bare', '-o', 'wide'])).trim().split('\n');
    assert.deepEqual(head.split(/\s{2,}/), ['NAME', 'READY', 'DESIRED', 'ROOMS', 'AVAILABLE', 'SYNCED', 'AGE', 'URL', 'TRACKS']);
    const cells = row.split(/\s{2,}/);
    assert.deepEqual(cells.slice(0, 6), ['bare', '2', '3', '7', 'True', 'False']);
    assert.deepEqual(cells.slice(7), ['https://media.example.com', '90']);
  });

  it('have short names, a category and selectable fields', async () => {
    const resources = (await run(['api-resources', '--api-group=mediarooms.dev', '-o', 'wide', '--no-headers'])).trim().split('\n');
    assert.match(resources.join('\n'), /mediaclusters +mcl +mediarooms.dev\/v1alpha1 +true +MediaCluster .* media$/m);
    assert.match(resources.join('\n'), /rooms +mroom +mediarooms.dev\/v1alpha2 +true +Room .* media$/m);
    const all = await run(['get', 'media', '-o', 'name']);
    assert.match(all, /^room.mediarooms.dev\/bare$/m);
    assert.match(all, /^mediacluster.mediarooms.dev\/bare$/m);
    const found = await run(['get', 'mroom', '-A', '--field-selector=spec.roomId=webinar-2026', '-o', 'name']);
    assert.equal(found, 'room.mediarooms.dev/webinar\n');
    const ready = await run(['get', 'mroom', '-A', '--field-selector=status.phase=Ready,status.node=svc@10.0.0.7', '-o', 'name']);
    assert.equal(ready, 'room.mediarooms.dev/bare\n');
    const ofMedia = await run(['get', 'mroom', '-A', '--field-selector=spec.clusterRef.name=media', '-o', 'name']);
    assert.equal(ofMedia, 'room.mediarooms.dev/webinar\n');
  });

  it('describe every field in kubectl explain with meaning, bounds and default', async () => {
    const spec = await run(['explain', 'mroom.spec']);
    assert.match(
      spec,
      /maxPeers\s+<integer>\n\s+Maximum number of peers in the room; the limit of the cluster if omitted \(1\s+to\s+1000000\)\./,
    );
    assert.match(spec, /recreate\s+<string>\n\s*enum: Always, Never\n\s+What happens[\s\S]*Failed \(default Always\)\./);
    const file = await run(['explain', 'mroom.spec.components.file.filePath']);
    assert.match(file, /An .ogg \(Opus\) or .h264 file on the server, below\s+file_component_sources\./);
    for (const kind of ['mroom', 'mcl']) assert.doesNotMatch(await run(['explain', kind, '--recursive']), /<no description>/);
    assert.doesNotMatch(await run(['explain', 'mcl.spec']), /<no description>/);
  });
});

/** By file name. */
function messagesOf(written: readonly Manifest[]): Map<string, string> {
  return new Map(written.map(({ file, message }) => [file, message]));
}

function sorted(map: Map<string, string>): [string, string][] {
  return [...map].sort(([one], [other]) => (one < other ? -1 : 1));
}
