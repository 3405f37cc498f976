// docs/reference/network-ports.md compared with the traffic table from which the NetworkPolicy is derived.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { PortRange } from '../../../../../operator/clusters/cluster-context.ts';
import { networkRules, type TrafficSource } from '../../../../../operator/clusters/network/network-rules.ts';
import { testCluster } from '../../../../kit/fakes/media-cluster.ts';

const document = await readFile(new URL('../../../../../docs/reference/network-ports.md', import.meta.url), 'utf8');
const words: Record<TrafficSource, string> = {
  anyone: 'everywhere',
  cluster: 'pods of the Kubernetes cluster',
  nodes: 'nodes of the same MediaCluster',
  monitoring: '`networkPolicy.monitoringFrom`',
};
const portsText = ({ from, to }: PortRange) => (from === to ? String(from) : `${from}-${to}`);

test('docs/reference/network-ports.md contains the traffic table of a cluster with SIP', () => {
  const rows = document
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1);
  const { spec } = testCluster({ media: { exposure: 'loadBalancer' }, sip: {}, config: { componentsUsed: ['sip'] } });
  assert.deepEqual(
    rows,
    networkRules(spec, {}).map(
      ({ name, protocols, ports, from, purpose }) =>
        `| ${name} | ${[...protocols].join(', ')} | ${portsText(ports)} | ${words[from]} | ${purpose} |`,
    ),
  );
});
