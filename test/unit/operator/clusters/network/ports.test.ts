// Media port blocks, and parsing of rejections by the API server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  allocatedPorts,
  allocatePortBlock,
  fixedPortBlock,
  mediaRange,
  portBlockSize,
  portRangeOf,
  portsOf,
  sipPorts,
  turnPort,
  turnTlsPort,
} from '../../../../../operator/clusters/network/ports.ts';
import { testCluster } from '../../../../kit/fakes/media-cluster.ts';
import { seededRandom } from '../../../../kit/seeded-random.ts';

const specOf = (spec: object) => testCluster(spec).spec;
const numbersOf = (spec: ReturnType<typeof specOf>, base: number) => portsOf(spec, base).map(({ port }) => port);
const range = { from: 30_000, to: 30_009 };

test('the lowest unused block is allocated', () => {
  assert.equal(allocatePortBlock(range, 3, new Set()), 30_000);
  assert.equal(allocatePortBlock(range, 3, new Set([30_002])), 30_003);
  assert.equal(allocatePortBlock(range, 3, new Set([30_002, 30_005])), 30_006);
  assert.equal(allocatePortBlock(range, 1, new Set([30_000, 30_001])), 30_002);
});

test('a block can end at the last port of the range but not beyond', () => {
  assert.equal(allocatePortBlock(range, 10, new Set()), 30_000);
  assert.equal(allocatePortBlock(range, 11, new Set()), undefined);
  assert.equal(allocatePortBlock(range, 2, new Set([30_000, 30_002, 30_004, 30_006])), 30_007);
  assert.equal(allocatePortBlock(range, 3, new Set([30_000, 30_002, 30_004, 30_006])), 30_007);
  assert.equal(allocatePortBlock(range, 3, new Set([30_000, 30_002, 30_004, 30_007])), undefined);
});

test('for any used ports the allocated block is the lowest free block in the range', () => {
  const random = seededRandom(7);
  for (let round = 0; round < 500; round += 1) {
    const used = new Set(Array.from({ length: Math.floor(random() * 9) }, () => 30_000 + Math.floor(random() * 10)));
    const size = 1 + Math.floor(random() * 4);
    const isFree = (base: number) => base + size - 1 <= range.to && Array.from({ length: size }).every((_, at) => !used.has(base + at));
    const expected = Array.from({ length: 10 }, (_, at) => range.from + at).find(isFree);
    assert.equal(allocatePortBlock(range, size, used), expected, JSON.stringify({ used: [...used], size }));
  }
});

test('a block has a port for each worker, one for TURN and one for TURN over TLS', () => {
  const plain = specOf({ workersPerNode: 3 });
  assert.deepEqual(numbersOf(plain, 30_000), [30_000, 30_001, 30_002]);
  assert.equal(turnPort(plain, 30_000), undefined);
  const turn = specOf({ workersPerNode: 3, turn: { enabled: true } });
  assert.equal(portBlockSize(turn), 4);
  assert.equal(turnPort(turn, 30_000), 30_003);
  assert.equal(turnTlsPort(turn, 30_000), undefined);
  const tls = specOf({ workersPerNode: 3, turn: { enabled: true, tlsSecretName: 'c' } });
  assert.deepEqual([portBlockSize(tls), turnPort(tls, 30_000), turnTlsPort(tls, 30_000)], [5, 30_003, 30_004]);
  assert.deepEqual(numbersOf(tls, 30_000).slice(-2), [30_003, 30_004]);
  assert.ok(portsOf(tls, 30_000).every(({ protocols }) => protocols.join() === 'UDP,TCP'));
});

test('with SIP a block ends with UDP ports of SIP and its calls', () => {
  const turn = { enabled: true, tlsSecretName: 'c' };
  const spec = specOf({ workersPerNode: 3, turn, sip: { components: 2, calls: 4 } });
  assert.equal(portBlockSize(spec), 11);
  assert.deepEqual(sipPorts(spec, 30_000), { signalling: { from: 30_005, to: 30_006 }, calls: { from: 30_007, to: 30_010 } });
  assert.deepEqual(
    portsOf(spec, 30_000).map(({ port, protocols }) => [port, protocols.join()]),
    Array.from({ length: 11 }, (_, at) => [30_000 + at, at < 5 ? 'UDP,TCP' : 'UDP']),
  );
  assert.equal(turnTlsPort(spec, 30_000), 30_004);
  assert.equal(sipPorts(specOf({}), 30_000), undefined);
  assert.equal(portBlockSize(specOf({ sip: {} })), 1 + 4 + 20);
});

test('node ports are from the configured range, otherwise from the reported or default range of the API server', () => {
  assert.deepEqual(mediaRange(specOf({}), {}), { from: 30_000, to: 32_767 });
  assert.deepEqual(mediaRange(specOf({}), { nodePortRange: { from: 20_000, to: 22_767 } }), { from: 20_000, to: 22_767 });
  const given = specOf({ media: { ports: { from: 31_000, to: 31_100 } } });
  assert.deepEqual(mediaRange(given, { nodePortRange: { from: 20_000, to: 22_767 } }), { from: 31_000, to: 31_100 });
});

test('pods with separate addresses use the same ports for every index', () => {
  for (const exposure of ['podIP', 'loadBalancer']) {
    const spec = specOf({ workersPerNode: 2, media: { exposure } });
    assert.equal(fixedPortBlock(spec, 0), 50_000);
    assert.equal(fixedPortBlock(spec, 9), 50_000);
    assert.deepEqual(mediaRange(spec, {}), { from: 50_000, to: 50_001 });
  }
});

test('blocks of host ports never overlap, including the extra index of a rollout', () => {
  for (const exposure of ['hostPort', 'hostNetwork']) {
    const spec = specOf({ workersPerNode: 2, maxReplicas: 4, media: { exposure } });
    const blocks = Array.from({ length: 5 }, (_, index) => numbersOf(spec, fixedPortBlock(spec, index) ?? assert.fail(String(index))));
    assert.equal(new Set(blocks.flat()).size, 10);
    // A spare index has the block of the lost pod that it replaces.
    assert.equal(fixedPortBlock(spec, 7), fixedPortBlock(spec, 2));
    assert.deepEqual(mediaRange(spec, {}), { from: 50_000, to: 50_009 });
  }
});

test('a range that is too small for an index gives it no block', () => {
  const spec = specOf({ workersPerNode: 2, media: { exposure: 'hostPort', ports: { from: 40_000, to: 40_004 } } });
  assert.equal(fixedPortBlock(spec, 1), 40_002);
  assert.equal(fixedPortBlock(spec, 2), undefined);
});

test('allocated ports are parsed from a rejection, each once', () => {
  const one = 'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 30501: provided port is already allocated';
  assert.deepEqual(allocatedPorts(one), [30_501]);
  const many =
    'Service "a" is invalid: [spec.ports[0].nodePort: Invalid value: 30501: provided port is already allocated, spec.ports[1].nodePort: Invalid value: 30501: provided port is already allocated, spec.ports[2].nodePort: Invalid value: 30502: provided port is already allocated]';
  assert.deepEqual(allocatedPorts(many), [30_501, 30_502]);
  assert.deepEqual(allocatedPorts('spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive'), []);
});

test('the node port range is parsed from a rejection', () => {
  const message =
    'spec.ports[0].nodePort: Invalid value: 40000: provided port is not in the valid range. The range of valid ports is 30000-32767';
  assert.deepEqual(portRangeOf(message), { from: 30_000, to: 32_767 });
  assert.equal(portRangeOf('anything else'), undefined);
});
