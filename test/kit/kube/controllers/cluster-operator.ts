// The MediaCluster controller in the process of a test, with separate reflectors; a test can replace its clocks and clients.
import { ClusterController, type ClusterControllerOptions } from '../../../../operator/clusters/controller.ts';
import type { ClusterStores } from '../../../../operator/clusters/observed-objects.ts';
import type { KubeClient } from '../../../../operator/kube/client.ts';
import { type KubeObject, type Resource, resources, type Stored } from '../../../../operator/kube/objects.ts';
import type { CallObservation } from '../../../../operator/kube/observer.ts';
import { Reflector } from '../../../../operator/kube/reflector.ts';
import { SecretStore } from '../../../../operator/kube/secret-store.ts';
import type { Log } from '../../../../operator/log.ts';
import { NodeClient } from '../../../../operator/nodes/node-client.ts';
import type { ApiServer } from '../api-server.ts';
import { connectController } from './controller-client.ts';

export type ClusterOperatorOptions = Partial<Pick<ClusterControllerOptions, 'clock' | 'tokenLifetimeMs' | 'image'>> & {
  /** Watched namespaces; all if omitted. */
  namespaces?: readonly string[];
  /** Whether Nodes may be read; default true. */
  nodes?: boolean;
  /** Whether the API server supports ServiceMonitors; default false. */
  serviceMonitors?: boolean;
  /** Whether it supports HTTPRoutes, TLSRoutes and IngressRouteTCPs; default false. */
  httpRoutes?: boolean;
  tlsRoutes?: boolean;
  ingressRouteTcps?: boolean;
  /** URLs of nodes whose health cannot be requested; a test may change it. */
  silent?: ReadonlySet<string>;
  log?: Log;
  /** Kubeconfig of another user than the administrator. */
  kubeconfig?: string;
};

const ours = 'app.kubernetes.io/managed-by=mediarooms-operator';

export class ClusterOperator {
  readonly controller: ClusterController;
  /** Every request to the API server except watches. */
  readonly calls: CallObservation[];
  /** Addresses of polled nodes, and whether requests to them are signed. */
  readonly called: ReadonlyMap<string, boolean>;
  readonly #end: () => Promise<void>;
  #ending: Promise<void> | undefined;

  private constructor(
    controller: ClusterController,
    { calls, called }: Pick<ClusterOperator, 'calls' | 'called'>,
    end: () => Promise<void>,
  ) {
    this.controller = controller;
    this.calls = calls;
    this.called = called;
    this.#end = end;
  }

  /** Running when it returns; ends before the API server. */
  static async start(server: ApiServer, options: ClusterOperatorOptions = {}): Promise<ClusterOperator> {
    const { client, recorder, log, calls, close } = await connectController(options.kubeconfig ?? server.kubeconfig, options.log);
    const called = new Map<string, boolean>();
    const stop = new AbortController();
    const reflectors: Reflector<KubeObject>[] = [];
    let controller: ClusterController | undefined;
    const stores = storesOf(options, client, <T extends KubeObject>(resource: Resource, labelSelector?: string): Reflector<T> => {
      const reflector = new Reflector<T>({
        client,
        resource,
        namespaces: resource.namespaced ? (options.namespaces ?? []) : [],
        ...(labelSelector ? { labelSelector } : {}),
        metadataOnly: resource.kind === 'Secret',
        log,
        onChange: (object: Stored<T>, old?: Stored<T>) => controller?.changed(object, old),
        onDelete: (object: Stored<T>) => controller?.deleted(object),
      });
      reflectors.push(reflector as unknown as Reflector<KubeObject>);
      return reflector;
    });
    controller = new ClusterController({
      client: client.scoped({ signal: stop.signal }),
      stores,
      nodeCalls: (target) => {
        called.set(target.url, target.signed);
        const node = new NodeClient({ ...target, timeoutMs: 2_000 });
        const { health } = node;
        node.health = (signal) =>
          options.silent?.has(target.url) ? Promise.reject(new Error('It could not be reached.')) : health.call(node, signal);
        return node;
      },
      recorder,
      log,
      image: options.image ?? 'mediarooms-node:test',
      ...(options.clock ? { clock: options.clock } : {}),
      ...(options.tokenLifetimeMs === undefined ? {} : { tokenLifetimeMs: options.tokenLifetimeMs }),
    });
    const running = reflectors.map((reflector) => reflector.run(stop.signal));
    await Promise.all(reflectors.map((reflector) => reflector.whenSynced(stop.signal)));
    running.push(controller.run(stop.signal));
    const end = async () => {
      stop.abort();
      await Promise.allSettled(running);
      await close();
    };
    const operator = new ClusterOperator(controller, { calls, called }, end);
    server.beforeEnd(() => operator.stop());
    return operator;
  }

  /** Stops like a killed process. Idempotent. */
  stop(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }
}

type Reflect = <T extends KubeObject>(resource: Resource, labelSelector?: string) => Reflector<T>;

function storesOf(options: ClusterOperatorOptions, client: KubeClient, reflect: Reflect): ClusterStores {
  return {
    mediaClusters: reflect(resources.mediaClusters),
    pods: reflect(resources.pods, ours),
    secrets: new SecretStore({ metadata: reflect(resources.secrets), client, maxBytes: 2 ** 24 }),
    services: reflect(resources.services, ours),
    configMaps: reflect(resources.configMaps, ours),
    serviceAccounts: reflect(resources.serviceAccounts, ours),
    persistentVolumeClaims: reflect(resources.persistentVolumeClaims, ours),
    podDisruptionBudgets: reflect(resources.podDisruptionBudgets, ours),
    networkPolicies: reflect(resources.networkPolicies, ours),
    ingresses: reflect(resources.ingresses, ours),
    httpRoutes: options.httpRoutes ? reflect(resources.httpRoutes, ours) : undefined,
    tlsRoutes: options.tlsRoutes ? reflect(resources.tlsRoutes, ours) : undefined,
    ingressRouteTcps: options.ingressRouteTcps ? reflect(resources.ingressRouteTcps, ours) : undefined,
    serviceMonitors: options.serviceMonitors ? reflect(resources.serviceMonitors, ours) : undefined,
    nodes: options.nodes === false ? undefined : reflect(resources.nodes),
  };
}
