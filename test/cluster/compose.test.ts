// compose.yaml: its two services with their environment, each on a separate host of one private network.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { variables } from '../../api/settings/variables.ts';
import type { Environment } from '../../node/env.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { ClusterNetwork } from '../kit/network/cluster-network.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { onMachines } from './network-kit.ts';

type Service = { hostname: string; environment: Record<string, string>; ports: string[] };
const compose = readFileSync(join(import.meta.dirname, '../../compose.yaml'), 'utf8');

const base = 'debian@sha256:0';

/** Replaces `${NAME:-default}` and `${NAME:?message}` like compose. */
function filledIn(text: string, values: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+):([-?])([^}]*)\}/g, (_whole, name: string, kind: string, rest: string) => {
    const value = values[name];
    assert.ok(value !== undefined || kind === '-', `${name} is not set: ${rest}`);
    return value ?? rest;
  });
}

function servicesWith(values: Record<string, string>): [name: string, service: Service][] {
  const { services } = parse(filledIn(compose, values), { merge: true }) as { services: Record<string, Service> };
  return Object.entries(services);
}

/** Environment of the image. */
const image: Environment = Object.fromEntries(
  variables.flatMap((variable) => (variable.image === undefined ? [] : [[`SVC_${variable.env}`, variable.image]])),
);

test('compose.yaml requires its secrets and publishes media ports, but neither EPMD nor the distribution port', () => {
  assert.throws(() => servicesWith({}), /BASE is not set: write BASE=/);
  assert.throws(() => servicesWith({ BASE: base }), /SVC_SERVER_API_TOKEN is not set: write SVC_SERVER_API_TOKEN=/);
  for (const [, { ports, environment }] of servicesWith({ BASE: base, SVC_SERVER_API_TOKEN: 't', SVC_SECRET_KEY_BASE: 'k' })) {
    const first = Number(environment.SVC_WEBRTC_BASE_PORT);
    const media = `${first}-${first + Number(environment.SVC_WEBRTC_WORKERS) - 1}`;
    assert.deepEqual(ports.slice(1), [`${media}:${media}/udp`, `${media}:${media}/tcp`]);
    assert.equal(ports[0], `${environment.SVC_HOST?.split(':')[1]}:8080`);
  }
});

test('the two services of compose.yaml form one cluster, and rooms are spread over them', onMachines, async (t) => {
  const token = randomBytes(16).toString('hex');
  const services = servicesWith({ BASE: base, SVC_SERVER_API_TOKEN: token, SVC_SECRET_KEY_BASE: randomBytes(32).toString('hex') });
  const network = await ClusterNetwork.make(t, services.length);
  const machines = services.map(([name, service], index) => ({ name, service, machine: network.machines[index] }));
  const hosts = machines.map(({ service, machine }) => `${machine?.ip} ${service.hostname}\n`).join('');
  await network.setFile('hosts', `127.0.0.1 localhost\n${hosts}`);
  const nodes = await Promise.all(
    machines.map(async ({ service, machine }) => {
      assert.ok(machine);
      const { SVC_RESOURCES_BASE_PATH: _, ...rest } = image;
      await startNodeProcess(t, { ...rest, ...service.environment }, { wrap: machine.wrap });
      return { api: apiClient(`http://${machine.ip}:8080`, token), host: service.environment.SVC_HOST };
    }),
  );
  const [first] = nodes;
  assert.ok(first);
  await eventually('the two nodes are one cluster', async () => {
    const seen = await Promise.all(nodes.map(async ({ api }) => (await api.get('/health')).body.data.distribution.nodesInCluster));
    return seen.every((count) => count === 2);
  });
  const made = [await first.api.post('/room', {}), await first.api.post('/room', {})];
  assert.deepEqual(made.map(({ body }) => body.data.svc_address).sort(), nodes.map(({ host }) => host).sort());
});
