// Announced media address of a pod, and the reason while it is unknown.
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
  test(`${exposure} announces the external address of the Kubernetes node, otherwise the internal one`, () => {
    assert.deepEqual(announced({ exposure }, placed), { address: '203.0.113.7' });
    assert.deepEqual(announced({ exposure }, inside), { address: '192.168.0.7' });
    assert.deepEqual(announced({ exposure, announcedAddress: 'nodeExternalIP' }, inside), { address: '192.168.0.7' });
  });

test('podIP announces the pod address, and loadBalancer the address of the load balancer', () => {
  assert.deepEqual(announced({ exposure: 'podIP' }, placed), { address: '10.1.0.5' });
  const byAddress = { ...placed, loadBalancer: [{ ip: '198.51.100.4' }] };
  assert.deepEqual(announced({ exposure: 'loadBalancer' }, byAddress), { address: '198.51.100.4' });
  const byName = { ...placed, loadBalancer: [{ hostname: 'lb.example' }] };
  assert.deepEqual(announced({ exposure: 'loadBalancer' }, byName), { address: 'lb.example' });
});

test('a configured address takes precedence over the default of the exposure', () => {
  assert.deepEqual(announced({ announcedAddress: 'nodeInternalIP' }, placed), { address: '192.168.0.7' });
  assert.deepEqual(announced({ announcedAddress: 'podIP' }, placed), { address: '10.1.0.5' });
  const both = { exposure: 'loadBalancer', announcedAddress: '198.51.100.9 media.example' };
  assert.deepEqual(announced(both, { mayReadHosts: false }), { address: '198.51.100.9 media.example' });
});

test('an unknown address is reported with the reason', () => {
  assert.equal(reasonOf(announced({}, { mayReadHosts: true })), 'PodPending');
  assert.equal(reasonOf(announced({ exposure: 'podIP' }, { mayReadHosts: true })), 'PodPending');
  assert.equal(reasonOf(announced({}, { podIP: '10.1.0.5', hostIP: '192.168.0.7', mayReadHosts: true })), 'HostUnknown');
  assert.equal(reasonOf(announced({ exposure: 'loadBalancer' }, placed)), 'LoadBalancerPending');
  assert.equal(reasonOf(announced({ exposure: 'loadBalancer' }, { ...placed, loadBalancer: [{}] })), 'LoadBalancerPending');
});

test('an operator without permission to read Nodes announces the internal address', () => {
  assert.deepEqual(announced({}, { podIP: '10.1.0.5', hostIP: '192.168.0.7', mayReadHosts: false }), { address: '192.168.0.7' });
});

test('the announced addresses of a dual-stack Kubernetes node have the address family of the pods', () => {
  const hostAddresses = [
    { type: 'ExternalIP', address: '2001:db8::7' },
    { type: 'ExternalIP', address: '203.0.113.7' },
  ];
  assert.deepEqual(announced({}, { ...placed, hostAddresses }), { address: '203.0.113.7' });
  assert.deepEqual(announced({}, { ...placed, podIP: 'fd00::5', hostAddresses }), { address: '2001:db8::7' });
});

test('with dual-stack Services, addresses of both families are announced, that of the pod first', () => {
  const dual = { ...placed, podIPs: ['10.1.0.5', 'fd00::5'], dualStack: true };
  const of = (type: string) => ['2001:db8::7', '192.0.2.7', '2001:db8::8'].map((address) => ({ type, address }));
  assert.deepEqual(announced({ exposure: 'podIP' }, dual), { address: '10.1.0.5 fd00::5' });
  assert.deepEqual(announced({}, { ...dual, hostAddresses: of('ExternalIP') }), { address: '192.0.2.7 2001:db8::7 2001:db8::8' });
  assert.deepEqual(announced({}, { ...dual, hostAddresses: of('InternalIP') }), { address: '192.0.2.7 2001:db8::7' });
  assert.deepEqual(announced({}, dual), { address: '203.0.113.7' });
});
