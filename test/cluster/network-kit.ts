// Test kit: nodes on the hosts of a network, with REST, health and log.
import assert from 'node:assert/strict';
import { isIPv6 } from 'node:net';
import type { TestContext } from 'node:test';
import { hostAndPort } from '../../node/config/addresses.ts';
import type { Environment } from '../../node/env.ts';
import { type ApiClient, apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import type { ClusterNetwork, NetworkHost } from '../kit/network/cluster-network.ts';
import { mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken } from '../kit/processes/start-node.ts';
import { stopwatch } from '../kit/promised-time.ts';

/** For tests that need separate hosts. */
export const onMachines = { skip: mayMakeNamespaces ? false : 'only root may make network namespaces' };

export type ClusterNode = { name: string; machine: NetworkHost; process: NodeProcess; api: ApiClient };
type MadeRoom = { id: string; address: string };
export type Room = { id: string; config: { roomId?: string }; [field: string]: unknown };

/** Time in milliseconds after which an unresponsive node is polled for its load again. */
const loadPause = 5_500;
const timeoutMs = 60_000;

export function nodeName({ ip }: NetworkHost): string {
  return `svc@${ip}`;
}

export async function startOn(t: TestContext, machine: NetworkHost, env: Environment = {}): Promise<ClusterNode> {
  const name = nodeName(machine);
  const ip = isIPv6(machine.ip) ? '::' : '0.0.0.0';
  const process = await startNodeProcess(t, { ...ownMachine, SVC_IP: ip, SVC_DIST_NODE_NAME: name, ...env }, { wrap: machine.wrap });
  return { name, machine, process, api: apiClient(`http://${hostAndPort(machine.ip, 5002)}`, apiToken) };
}

/** As in the image: default ports, because the node does not share its host. */
const ownMachine: Environment = {
  SVC_PORT: '5002',
  SVC_METRICS_PORT: '9568',
  SVC_DIST_ENABLED: 'true',
  SVC_DIST_MODE: 'name',
  SVC_DIST_MIN_PORT: '9000',
  SVC_DIST_MAX_PORT: '9000',
};

/** A node on every host, configured with all others, and all connected. */
export async function startCluster(t: TestContext, network: ClusterNetwork, env: Environment = {}): Promise<ClusterNode[]> {
  const nodes = await Promise.all(
    network.machines.map((networkHost) => startOn(t, networkHost, { ...staticDiscovery(network.machines), ...env })),
  );
  await connected(nodes);
  return nodes;
}

export function staticDiscovery(machines: readonly NetworkHost[]): Environment {
  return { SVC_DIST_NODES: machines.map(nodeName).join(' ') };
}

export type DistributionHealth = { enabled: boolean; nodeStatus: string; nodesInCluster: number };

export async function healthOf({ api }: ClusterNode): Promise<DistributionHealth> {
  // A reused connection could lead to the previous host of the address.
  const { status, body } = await api.request('GET', '/health', { headers: { connection: 'close' } });
  assert.equal(status, 200);
  return body.data.distribution;
}

/** Resolves when /health of all nodes reports this number of nodes. @returns the time in milliseconds */
export async function counted(nodes: readonly ClusterNode[], count: number, within = timeoutMs): Promise<number> {
  const elapsed = stopwatch();
  const counts = (node: ClusterNode) => async () => (await healthOf(node)).nodesInCluster === count;
  const state = (node: ClusterNode) => () => `${node.name} counts ${count}\n${node.process.output()}`;
  await Promise.all(nodes.map((node) => eventually(state(node), counts(node), { within })));
  return Math.round(elapsed());
}

export function connected(nodes: readonly ClusterNode[]): Promise<number> {
  return counted(nodes, nodes.length);
}

export type LoggedLine = { level: string; msg: string; [field: string]: unknown };

/** Log lines of a node with this message so far. */
export function logged({ process }: ClusterNode, message: string): LoggedLine[] {
  return process
    .output()
    .split('\n')
    .filter((line) => line.includes(message) && line.startsWith('{'))
    .map((line) => JSON.parse(line) as LoggedLine)
    .filter(({ msg }) => msg === message);
}

/** Creates a room through a node. @returns its id and the address of its owner */
export async function makeRoom({ api }: ClusterNode, room: Record<string, unknown> = {}): Promise<MadeRoom> {
  const { status, body } = await api.post('/room', room);
  assert.equal(status, 201, JSON.stringify(body));
  return { id: body.data.room.id, address: body.data.svc_address };
}

/**
 * Creates rooms whose placement is compared, and repeats all if a node did not report its load: a node that was paused for a second gets no
 * rooms for five.
 */
export async function makeRooms(through: readonly ClusterNode[], make: () => Promise<MadeRoom[]>): Promise<MadeRoom[]> {
  const silences = () =>
    through
      .flatMap((node) => logged(node, 'room placed'))
      .filter(({ reasons }) => Object.values(reasons as object).includes('no response'));
  const makeAll = async () => {
    const before = silences().length;
    const made = await make();
    if (silences().length === before) return made;
    for (const { id } of made) await through[0]?.api.delete(`/room/${id}`);
    return undefined;
  };
  return eventually('all nodes report their load', makeAll, { every: loadPause });
}

export function addressOf({ machine }: ClusterNode): string {
  return hostAndPort(machine.ip, 5002);
}

/** Creates rooms until one is on that node. A node that was paused for a second during the load poll gets none for the next five. */
export async function makeRoomOn(owner: ClusterNode, through: ClusterNode): Promise<string> {
  let made = await makeRoom(through);
  await eventually(`a room was created on ${owner.name}`, async () => {
    if (made.address !== addressOf(owner)) made = await makeRoom(through);
    return made.address === addressOf(owner);
  });
  return made.id;
}

/** Ids of all rooms as listed by one node. The list is incomplete, and says so, if a node was paused for two seconds. */
export async function roomIds({ name, api }: ClusterNode): Promise<string[]> {
  let ids: string[] = [];
  await eventually(`${name} lists the rooms of all nodes`, async () => {
    const { status, body } = await api.get('/room');
    assert.equal(status, 200);
    ids = body.data.map(({ id }: Room) => id).sort();
    return body.incomplete.length === 0;
  });
  return ids;
}

/** Adds a peer through a node and connects it to the returned address. */
export async function enterRoom(t: TestContext, { api }: ClusterNode, roomId: string): Promise<PeerSocket> {
  const { status, body } = await api.post(`/room/${roomId}/peer`, { type: 'webrtc' });
  assert.equal(status, 201, JSON.stringify(body));
  const { token, peer_websocket_url } = body.data;
  const socket = await PeerSocket.enter(`ws://${peer_websocket_url}`, token);
  t.after(() => socket.cut());
  assert.equal(socket.welcome.ok, true);
  return socket;
}

export function countBy<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
