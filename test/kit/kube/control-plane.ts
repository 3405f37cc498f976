// Level 2 of the kit: an API server with the controllers of Kubernetes, which collect garbage, keep budgets and watch over hosts.

import { join } from 'node:path';
import { ApiServer, type ApiServerOptions } from './api-server.ts';
import { kubernetesPrograms } from './binaries.ts';
import type { Scope } from './scope.ts';

export type ControlPlaneOptions = Omit<ApiServerOptions, 'serviceAccountAdmission'> & {
  /** How long a host may be silent before it is not ready, in milliseconds; 10,000. */
  nodeGraceMs?: number;
  /** As kube-controller-manager takes them. */
  controllers?: readonly string[];
};

/**
 * All but those that would write the addresses of pods into EndpointSlices: the API refuses addresses of loopback there, and each refusal
 * would be an event of the Service. The pod runner stands for kube-proxy.
 */
const usualControllers = ['*', '-endpointslice-controller', '-endpointslice-mirroring-controller', '-endpoints-controller'];

/**
 * An API server and kube-controller-manager: garbage collection, PodDisruptionBudgets, namespaces that end, ServiceAccounts, volumes that
 * are bound, hosts that are lost. Pods stay Pending until a PodRunner runs them. Ready in about 6 s, 350 MB: share one among a file's tests.
 */
export async function startControlPlane(scope: Scope, options: ControlPlaneOptions = {}): Promise<ApiServer> {
  const { nodeGraceMs = 10_000, controllers = usualControllers, ...rest } = options;
  const server = await ApiServer.start(scope, { ...rest, serviceAccountAdmission: true });
  const program = kubernetesPrograms(['kube-controller-manager'])['kube-controller-manager'];
  server.runController('kube-controller-manager', [
    program,
    `--kubeconfig=${server.kubeconfig}`,
    `--service-account-private-key-file=${server.serviceAccountKey}`,
    `--root-ca-file=${server.authority}`,
    '--use-service-account-credentials=false',
    '--leader-elect=false',
    // It serves nothing, so any number of them can run on one machine.
    '--secure-port=0',
    // It makes this folder, and its default is the machine's.
    `--flex-volume-plugin-dir=${join(server.dir, 'volume-plugins')}`,
    '--node-monitor-period=1s',
    `--node-monitor-grace-period=${nodeGraceMs}ms`,
    `--controllers=${controllers.join(',')}`,
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
  ]);
  await server.waitFor('the default ServiceAccount', '/api/v1/namespaces/default/serviceaccounts/default');
  return server;
}
