// Paths to pods from outside: node ports, host ports and load balancers of fake Kubernetes nodes, and addresses of Services for tests.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServicePort } from '../../../../operator/kube/kinds.ts';
import type { JsonClient } from '../https-json.ts';
import type { FakeKubernetesNode } from '../pods/fake-nodes.ts';
import { isLive, isReady, type Pod, type Service } from '../pods/pod-spec.ts';
import { type Endpoint, endpointsOf } from './endpoints.ts';
import { type Forward, forward, type Protocol, type Target } from './port-forwards.ts';

export type ServicePortsOptions = {
  client: JsonClient;
  hosts: readonly FakeKubernetesNode[];
  pods: () => readonly Pod[];
  services: () => readonly Service[];
  /** Prefix of the addresses of load balancers. */
  outside: string;
};

/** One listening address, for example `UDP 127.20.1.254:30500`, and its current targets. */
type PortMapping = { protocol: Protocol; ip: string; port: number; targets: () => readonly Target[] };

/** Retry delay for a port in use, in milliseconds. */
const retryDelay = 200;

export class ServicePorts {
  readonly #options: ServicePortsOptions;
  readonly #open = new Map<string, Promise<Forward | undefined>>();
  readonly #places = new Map<string, PortMapping>();
  readonly #asked: Promise<Forward>[] = [];
  readonly #balancers = new Map<string, string>();
  #turn = 0;
  #closed = false;

  constructor(options: ServicePortsOptions) {
    this.#options = options;
  }

  /** Services or pods have changed. */
  update(): void {
    if (this.#closed) return;
    const wanted = new Map(
      [...this.#nodePorts(), ...this.#balanced(), ...this.#hostPorts()].map((portMapping) => [keyOf(portMapping), portMapping]),
    );
    this.#places.clear();
    for (const [key, portMapping] of wanted) {
      this.#places.set(key, portMapping);
      if (!this.#open.has(key)) this.#open.set(key, this.#listen(key, portMapping));
    }
    for (const [key, opened] of this.#open) {
      if (wanted.has(key)) continue;
      this.#open.delete(key);
      void opened.then((open) => open?.close());
    }
  }

  /** `127.0.0.1:<port>` that forwards to the ready pods of a Service. */
  async addressOf(namespace: string, name: string, port?: string | number): Promise<string> {
    const find = () => this.#options.services().find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
    const opened = forward('TCP', '127.0.0.1', 0, () => {
      const service = find();
      const chosen = service?.spec.ports?.find((each) => port === undefined || each.name === port || each.port === port);
      return service && chosen && this.#next(endpointsOf(service, chosen, this.#options.pods().filter(isReady)));
    });
    this.#asked.push(opened);
    return `127.0.0.1:${(await opened).port}`;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opened = await Promise.all([...this.#open.values(), ...this.#asked]);
    await Promise.all(opened.map((open) => open?.close()));
  }

  /** Addresses on which listening fails, such as ports below 1024 without privileges, are not forwarded. */
  async #listen(key: string, { protocol, ip, port }: PortMapping): Promise<Forward | undefined> {
    for (;;) {
      try {
        return await forward(protocol, ip, port, () => this.#next(this.#places.get(key)?.targets() ?? []));
      } catch (error) {
        // A foreign socket with a random port may use this port on all addresses while it is open.
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || this.#closed || !this.#places.has(key)) return undefined;
        await sleep(retryDelay);
      }
    }
  }

  #next<T>(targets: readonly T[]): T | undefined {
    if (targets.length === 0) return undefined;
    this.#turn += 1;
    return targets[this.#turn % targets.length];
  }

  #nodePorts(): PortMapping[] {
    return this.#options
      .services()
      .flatMap((service) =>
        (service.spec.ports ?? []).flatMap((port) =>
          port.nodePort === undefined ? [] : this.#options.hosts.flatMap((host) => this.#nodePort(service, port, port.nodePort ?? 0, host)),
        ),
      );
  }

  #nodePort(service: Service, port: ServicePort, number: number, host: FakeKubernetesNode): PortMapping[] {
    const local = service.spec.externalTrafficPolicy === 'Local';
    const targets = () => this.#endpoints(service, port).filter((endpoint) => !local || endpoint.host === host.name);
    return [host.internalIP, host.externalIP].map((ip) => ({ protocol: protocolOf(port), ip, port: number, targets }));
  }

  #balanced(): PortMapping[] {
    return this.#options
      .services()
      .filter(({ spec }) => spec.type === 'LoadBalancer')
      .flatMap((service) => {
        const ip = this.#balancerOf(service);
        return (service.spec.ports ?? []).map((port) => ({
          protocol: protocolOf(port),
          ip,
          port: port.port,
          targets: () => this.#endpoints(service, port),
        }));
      });
  }

  /** Assigns an address to the Service, like a cloud provider. */
  #balancerOf(service: Service): string {
    const { uid, namespace, name } = service.metadata;
    const known = this.#balancers.get(uid);
    const ip = known ?? `${this.#options.outside}.${this.#balancers.size + 1}`;
    this.#balancers.set(uid, ip);
    if (service.status?.loadBalancer?.ingress?.[0]?.ip !== ip) {
      const path = `/api/v1/namespaces/${namespace}/services/${name}/status`;
      const body = { metadata: { uid }, status: { loadBalancer: { ingress: [{ ip, ipMode: 'VIP' }] } } };
      void this.#options.client.call(path, { method: 'PATCH', contentType: 'application/merge-patch+json', body }).catch(() => {});
    }
    return ip;
  }

  #hostPorts(): PortMapping[] {
    return this.#options.pods().flatMap((pod) => {
      const host = this.#options.hosts.find(({ name }) => name === pod.spec.nodeName);
      const ip = pod.status?.podIP;
      if (!host || !ip || !isLive(pod)) return [];
      const ports = pod.spec.containers.flatMap((container) => container.ports ?? []);
      return ports.flatMap(({ hostPort, containerPort, protocol = 'TCP' }) => {
        const port = pod.spec.hostNetwork ? containerPort : hostPort;
        if (port === undefined) return [];
        // A pod in the host network listens on the internal address itself.
        const places = pod.spec.hostNetwork ? [host.externalIP] : [host.internalIP, host.externalIP];
        return places.map((at) => ({ protocol: protocol as Protocol, ip: at, port, targets: () => [{ ip, port: containerPort }] }));
      });
    });
  }

  #endpoints(service: Service, port: ServicePort): Endpoint[] {
    return endpointsOf(service, port, this.#options.pods());
  }
}

function protocolOf({ protocol = 'TCP' }: ServicePort): Protocol {
  return protocol === 'UDP' ? 'UDP' : 'TCP';
}

function keyOf({ protocol, ip, port }: PortMapping): string {
  return `${protocol} ${ip}:${port}`;
}
