// Which address a pod announces, and what is waited for until it is known.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcedAddress, type PodLocation } from '../../../../../operator/clusters/network/exposure.ts';
import { testCluster } from '../../../../kit/fakes/media-cluster.ts';

const placed: PodLocation = {
  podIP: '10.1.0.5',
  hostIP: '192.168.0.7',
  hostAddresses: [
    { type: 'InternalIP', address: '192.168.0.7' },
    { type: 'ExternalIP', address: '203.0.113.7' },
    { type: 'Hostname', address: 'worker-7' },
  ],
  mayReadHosts: true,
};
const inside: PodLocation = { ...placed, hostAddresses: [{ type: 'InternalIP', address: '192.168.0.7' }] };
const announced = (media: object, place: PodLocation) => announcedAddress(testCluster({ media }).spec, place);
const reasonOf = (found: ReturnType<typeof announcedAddress>) => ('reason' in found ? found.reason : JSON.stringify(found));

for (const exposure of ['nodePort', 'hostPort', 'hostNetwork'])
  test(`${exposure} announces the external address of the host, else its internal one`, () => {
    assert.deepEqual(announced({ exposure }, placed), { address: '203.0.113.7' });
    assert.deepEqual(announced({ exposure }, inside), { address: '192.168.0.7' });
    assert.deepEqual(announced({ exposure, announcedAddress: 'nodeExternalIP' }, inside), { address: '192.168.0.7' });
  });

test('podIP announces the address of the pod, loadBalancer that of its load balancer', () => {
  assert.deepEqual(announced({ exposure: 'podIP' }, placed), { address: '10.1.0.5' });
  const byAddress = { ...placed, loadBalancer: [{ ip: '198.51.100.4' }] };
  assert.deepEqual(announced({ exposure: 'loadBalancer' }, byAddress), { address: '198.51.100.4' });
  const byName = { ...placed, loadBalancer: [{ hostname: 'lb.example' }] };
  assert.deepEqual(announced({ exposure: 'loadBalancer' }, byName), { address: 'lb.example' });
});

test('what was chosen wins over what the exposure would announce', () => {
  assert.deepEqual(announced({ announcedAddress: 'nodeInternalIP' }, placed), { address: '192.168.0.7' });
  assert.deepEqual(announced({ announcedAddress: 'podIP' }, placed), { address: '10.1.0.5' });
  const both = { exposure: 'loadBalancer', announcedAddress: '198.51.100.9 media.example' };
  assert.deepEqual(announced(both, { mayReadHosts: false }), { address: '198.51.100.9 media.example' });
});

test('until the address is known it is said what is waited for', () => {
  assert.equal(reasonOf(announced({}, { mayReadHosts: true })), 'PodPending');
  assert.equal(reasonOf(announced({ exposure: 'podIP' }, { mayReadHosts: true })), 'PodPending');
  assert.equal(reasonOf(announced({}, { podIP: '10.1.0.5', hostIP: '192.168.0.7', mayReadHosts: true })), 'HostUnknown');
  assert.equal(reasonOf(announced({ exposure: 'loadBalancer' }, placed)), 'LoadBalancerPending');
  assert.equal(reasonOf(announced({ exposure: 'loadBalancer' }, { ...placed, loadBalancer: [{}] })), 'LoadBalancerPending');
});

test('an operator that may not read hosts announces the internal address', () => {
  assert.deepEqual(announced({}, { podIP: '10.1.0.5', hostIP: '192.168.0.7', mayReadHosts: false }), { address: '192.168.0.7' });
});

test('of a host with addresses of both families those of the family of pods are announced', () => {
  const hostAddresses = [
    { type: 'ExternalIP', address: '2001:db8::7' },
    { type: 'ExternalIP', address: '203.0.113.7' },
  ];
  assert.deepEqual(announced({}, { ...placed, hostAddresses }), { address: '203.0.113.7' });
  assert.deepEqual(announced({}, { ...placed, podIP: 'fd00::5', hostAddresses }), { address: '2001:db8::7' });
});
