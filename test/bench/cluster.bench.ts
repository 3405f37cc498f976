// Cluster benchmark: 50 nodes that find each other through DNS, RPC between two nodes, idle cost of a mesh, rooms created on five nodes.
import { setTimeout as sleep } from 'node:timers/promises';
import { startDiscovery } from '../../node/cluster/discovery/discovery.ts';
import { systemResolver } from '../../node/cluster/discovery/resolver.ts';
import { ErlangNode } from '../../node/cluster/erlang/erlang-node.ts';
import { startDnsServer } from '../kit/network/dns-server.ts';
import { silentLog } from '../kit/silent-log.ts';
import { benchContext } from './bench-context.ts';
import { runLoad } from './http-load.ts';
import { benchToken, startPinnedNode } from './processes.ts';
import type { Report, Row } from './report.ts';

const meshSize = 50;
const epmdPort = 14_369;
const query = 'nodes.bench';
const idle = 10_000;

export async function benchCluster(report: Report): Promise<void> {
  report.print('Cluster', [...(await benchMesh()), ...(await benchRooms())]);
}

/** Distribution nodes without workers and HTTP, each with a separate loopback address and EPMD. */
async function benchMesh(): Promise<Row[]> {
  const { t, end } = benchContext();
  try {
    const dns = await startDnsServer(t);
    const addresses = Array.from({ length: meshSize }, (_, index) => `127.0.1.${index + 1}`);
    dns.add(query, ...addresses);
    const resolve = systemResolver({ servers: [dns.address] });
    const start = performance.now();
    const nodes = await Promise.all(
      addresses.map((ip) =>
        ErlangNode.start({ name: `svc@${ip}`, mode: 'name', cookie: 'bench', ip, ports: null, tick: 60_000, log: silentLog(), epmdPort }),
      ),
    );
    t.after(() => Promise.all(nodes.map((node) => node.close())));
    for (const node of nodes) {
      const connector = { self: node.name, nodes: () => node.connections, connect: (name: string) => node.connect(name) };
      const strategy = { name: 'DNS', query, pollingInterval: 1_000 } as const;
      const discovery = startDiscovery({ mode: 'name', strategy }, connector, silentLog(), { resolve, localAddresses: () => [] });
      t.after(() => discovery.close());
    }
    while (nodes.some((node) => node.connections.length < meshSize - 1)) await sleep(20);
    const meshed = performance.now() - start;
    await sleep(1_000);
    const before = process.cpuUsage();
    await sleep(idle);
    const { user, system } = process.cpuUsage(before);
    const [first, second] = nodes;
    if (!first || !second) throw new Error('no nodes');
    return [
      { what: `${meshSize} nodes connected through DNS`, value: meshed / 1000, unit: 's', goal: '5 s' },
      { what: 'idle mesh, CPU per node', value: (user + system) / 1000 / meshSize / (idle / 1000), unit: 'ms/s' },
      { what: '$gen_call, sequential', value: await callRate(first, second, 1), unit: '/s' },
      { what: '$gen_call, 100 concurrent', value: await callRate(first, second, 100), unit: '/s' },
    ];
  } finally {
    await end();
  }
}

async function callRate(from: ErlangNode, to: ErlangNode, width: number): Promise<number> {
  const name = `echo${width}`;
  to.register(name, { call: (request) => request });
  const until = performance.now() + 3_000;
  let count = 0;
  const caller = async () => {
    for (; performance.now() < until; count += 1) await from.call(to.name, name, 'ping', 5_000);
  };
  await Promise.all(Array.from({ length: width }, caller));
  return count / 3;
}

/** POST /room through one of five nodes on one core, compared with the same node alone. */
async function benchRooms(): Promise<Row[]> {
  const dist = (index: number) => ({
    SVC_DIST_ENABLED: 'true',
    SVC_DIST_NODE_NAME: `bench${index}@localhost`,
    SVC_DIST_NODES: 'bench1@localhost',
    SVC_SECRET_KEY_BASE: 'the secret key base of a benchmark, long enough',
  });
  const load = (url: string) =>
    runLoad({
      url: `${url}/room`,
      token: benchToken,
      clients: 8,
      duration: 5_000,
      body: () => ({ peerlessPurgeTimeout: 60 }),
      expectedStatus: 201,
    });
  const single = await startPinnedNode();
  const alone = await load(single.url);
  await single.stop();
  const nodes = await Promise.all([1, 2, 3, 4, 5].map((index) => startPinnedNode(dist(index))));
  try {
    const [first] = nodes;
    if (!first) throw new Error('no nodes');
    const headers = { authorization: `Bearer ${benchToken}` };
    const count = async () => ((await (await fetch(`${first.url}/cluster/nodes`, { headers })).json()) as { data: unknown[] }).data.length;
    while ((await count()) < nodes.length) await sleep(100);
    const together = await load(first.url);
    return [
      {
        what: 'POST /room through one of 5, 8 clients, rate',
        value: together.perSecond,
        unit: '/s',
        baseline: { what: 'one node alone', value: alone.perSecond },
      },
      {
        what: 'POST /room through one of 5, 8 clients, p99',
        value: together.p99,
        unit: 'ms',
        baseline: { what: 'one node alone', value: alone.p99 },
      },
    ];
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
  }
}
