// The network namespaces of the kit: what interrupted runs left.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { ClusterNetwork } from '../kit/network/cluster-network.ts';
import { ip, removeNamespace } from '../kit/network/namespaces.ts';
import { mayMakeNamespaces } from '../kit/network/network-namespace.ts';

const skip = mayMakeNamespaces ? false : 'requires root';

test('namespaces of an interrupted run are removed, those of a running process stay', { skip }, async (t) => {
  const ended = spawnSync('true').pid;
  const [left, kept] = [`mr-${ended}v1-1`, `mr-${process.ppid}v9-1`];
  for (const name of [left, kept]) {
    t.after(() => removeNamespace(name));
    await ip('netns', 'add', name);
  }
  const { machines } = await ClusterNetwork.make(t, 1);
  assert.ok(!existsSync(`/run/netns/${left}`));
  for (const name of [kept, machines[0]?.name]) assert.ok(existsSync(`/run/netns/${name}`));
});
