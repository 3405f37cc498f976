// Level 2 of the kit: an API server with the Kubernetes controllers for garbage collection, budgets and Kubernetes nodes.

import { join } from 'node:path';
import { ApiServer, type ApiServerOptions } from './api-server.ts';
import { kubernetesPrograms } from './binaries.ts';
import type { Scope } from './scope.ts';

export type ControlPlaneOptions = Omit<ApiServerOptions, 'serviceAccountAdmission'> & {
  /** Grace period before a Kubernetes node is NotReady, in milliseconds; 10,000. */
  nodeGraceMs?: number;
  /** Controllers in the format of kube-controller-manager. */
  controllers?: readonly string[];
};

/**
 * All controllers except those that write pod addresses into EndpointSlices: the API rejects loopback addresses there, and each rejection
 * would create an Event of the Service. The pod runner replaces kube-proxy.
 */
const usualControllers = ['*', '-endpointslice-controller', '-endpointslice-mirroring-controller', '-endpoints-controller'];

/**
 * An API server and kube-controller-manager: garbage collection, PodDisruptionBudgets, deletion of namespaces, ServiceAccounts, volume
 * binding, and lost Kubernetes nodes. Pods stay Pending until a PodRunner runs them. Ready in about 6 s, 350 MB: share one per file.
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
    // It serves no port, so several can run on one machine.
    '--secure-port=0',
    // It creates this folder, whose default is outside of the folder of the test.
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
