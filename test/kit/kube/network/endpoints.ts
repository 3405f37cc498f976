// Endpoints of Services and their DNS records.
import type { ServicePort } from '../../../../operator/kube/kinds.ts';
import { portOf } from '../pods/pod-probes.ts';
import { isLive, isReady, type Pod, type Service, selects } from '../pods/pod-spec.ts';

export type Endpoint = { ip: string; port: number; host: string };

/** Pods that receive traffic of a Service, by name. */
function podsOf({ metadata, spec }: Service, pods: readonly Pod[]): Pod[] {
  return pods
    .filter(({ metadata: of }) => of.namespace === metadata.namespace && selects(spec.selector, of.labels))
    .filter((pod) => isLive(pod) && pod.status?.podIP)
    .filter((pod) => spec.publishNotReadyAddresses || (isReady(pod) && pod.metadata.deletionTimestamp === undefined))
    .sort((one, other) => one.metadata.name.localeCompare(other.metadata.name));
}

/** Endpoints of one port of a Service. */
export function endpointsOf(service: Service, port: ServicePort, pods: readonly Pod[]): Endpoint[] {
  return podsOf(service, pods).flatMap((pod) => {
    const [container] = pod.spec.containers;
    if (!container) return [];
    const target = portOf(port.targetPort ?? port.port, container);
    return [{ ip: pod.status?.podIP ?? '', port: target, host: pod.spec.nodeName ?? '' }];
  });
}

/** Whether pods listen on the port numbers of the Service. */
function isPlain({ spec: { type, ports = [] } }: Service): boolean {
  return type === 'ClusterIP' && ports.length > 0 && ports.every(({ port, targetPort = port }) => targetPort === port);
}

/**
 * DNS records of headless Services and of the hostnames of their pods. Addresses of other Services are not routable here, so they resolve
 * to their pods if the ports are equal.
 */
export function dnsRecords(services: readonly Service[], pods: readonly Pod[]): Map<string, string[]> {
  const records = new Map<string, string[]>();
  for (const service of services.filter((each) => each.spec.clusterIP === 'None' || isPlain(each))) {
    const { name, namespace } = service.metadata;
    const zone = `${name}.${namespace}.svc.cluster.local`;
    const behind = podsOf(service, pods);
    records.set(
      zone,
      behind.map(({ status }) => status?.podIP ?? ''),
    );
    for (const { spec, status } of behind) {
      if (spec.subdomain === name && spec.hostname) records.set(`${spec.hostname}.${zone}`, [status?.podIP ?? '']);
    }
  }
  return records;
}
