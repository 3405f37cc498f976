// Services of a MediaCluster: headless for discovery, one for the API, and per pod one for HTTP and one for media.

import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ServicePort } from '../../kube/kinds.ts';
import type { ClusterContext, PodSlot } from '../cluster-context.ts';
import type { Service } from '../manifests.ts';
import { label, namesOf, nodePorts, podSelector, turnServicePort } from '../names.ts';
import { namespaceOf, ownedMeta, type StoredCluster } from '../owned.ts';
import { serviceDnsAnnotations } from './external-dns.ts';
import { exposureOf, portsOf, turnTlsPort } from './ports.ts';

/** Host name that resolves to the addresses of all pods. */
export function headlessServiceHost(cluster: StoredCluster, facts: Pick<ClusterContext, 'clusterDomain'>): string {
  return `${namesOf(cluster.metadata.name).nodes}.${namespaceOf(cluster)}.svc.${facts.clusterDomain}`;
}

/** Headless, for DNS discovery. It includes pods that are not ready, because they need each other to become ready. */
export function nodesService(cluster: StoredCluster): Service {
  return service(cluster, {
    name: namesOf(cluster.metadata.name).nodes,
    role: 'nodes',
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      ports: [tcp('epmd', nodePorts.epmd), tcp('dist', nodePorts.dist), { ...tcp('metrics', nodePorts.metrics), appProtocol: 'http' }],
    },
  });
}

/** The API: any ready node. */
export function apiService(cluster: StoredCluster): Service {
  const name = namesOf(cluster.metadata.name).api;
  return service(cluster, { name, role: 'api', spec: { type: 'ClusterIP', ports: [httpPort] } });
}

/** HTTP of one pod, the backend of its Ingress path. It includes a pod that is not ready, because its rooms live. */
export function nodeService(cluster: StoredCluster, index: number): Service {
  const names = namesOf(cluster.metadata.name);
  return service(cluster, {
    name: names.node(index),
    role: 'node',
    index,
    spec: { type: 'ClusterIP', publishNotReadyAddresses: true, ports: [httpPort] },
  });
}

/**
 * Media of one pod, for the exposures nodePort and loadBalancer. Port and container port are equal, because mediasoup announces the port
 * on which it listens; TURN over TLS may have another one. Local traffic policy keeps the client address.
 */
export function mediaService(cluster: StoredCluster, podSlot: PodSlot): Service | undefined {
  const exposure = exposureOf(cluster.spec);
  if (exposure !== 'nodePort' && exposure !== 'loadBalancer') return undefined;
  const byNodePort = exposure === 'nodePort';
  const { className, annotations, udpOnly } = byNodePort ? {} : (cluster.spec.media?.loadBalancer ?? {});
  const tlsPort = turnTlsPort(cluster.spec, podSlot.basePort);
  const ports = portsOf(cluster.spec, podSlot.basePort).flatMap(({ port, protocols }) =>
    (udpOnly ? (['UDP'] as const) : protocols).map((protocol): ServicePort => {
      const name = `${protocol.toLowerCase()}-${port}`;
      const published = protocol === 'TCP' && port === tlsPort ? (cluster.spec.turn?.tlsPort ?? port) : port;
      return { name, protocol, port: published, targetPort: port, ...(byNodePort ? { nodePort: port } : {}) };
    }),
  );
  return service(cluster, {
    name: namesOf(cluster.metadata.name).media(podSlot.index),
    role: 'media',
    index: podSlot.index,
    annotations: { ...serviceDnsAnnotations(cluster, podSlot.index), ...annotations },
    spec: {
      type: byNodePort ? 'NodePort' : 'LoadBalancer',
      publishNotReadyAddresses: true,
      externalTrafficPolicy: 'Local',
      ...(className === undefined ? {} : { loadBalancerClass: className }),
      ports,
    },
  });
}

/** TURN over TLS of one pod, the backend of its route. */
export function turnService(cluster: StoredCluster, { index, basePort }: PodSlot): Service | undefined {
  const targetPort = turnTlsPort(cluster.spec, basePort);
  if (cluster.spec.turn?.tlsRoutes === undefined || targetPort === undefined) return undefined;
  return service(cluster, {
    name: namesOf(cluster.metadata.name).turn(index),
    role: 'turn',
    index,
    spec: {
      type: 'ClusterIP',
      publishNotReadyAddresses: true,
      ports: [{ name: 'turn-tls', protocol: 'TCP', port: turnServicePort, targetPort }],
    },
  });
}

const tcp = (name: string, port: number): ServicePort => ({ name, protocol: 'TCP', port, targetPort: port });
const httpPort: ServicePort = { ...tcp('http', nodePorts.http), appProtocol: 'http' };

type ServiceOptions = {
  name: string;
  role: 'api' | 'nodes' | 'node' | 'media' | 'turn';
  index?: number;
  annotations?: Record<string, string> | undefined;
  spec: Omit<Service['spec'], 'selector'>;
};

function service(cluster: StoredCluster, { name, role, index, annotations, spec }: ServiceOptions): Service {
  const selector: Record<string, string> = podSelector(cluster.metadata.name);
  if (index !== undefined) selector[label.index] = String(index);
  // Nodes have one name each in the distribution, so they must not be found under addresses of a second family.
  const given: NonNullable<MediaClusterSpec['services']> = role === 'nodes' ? {} : (cluster.spec.services ?? {});
  const { annotations: ofHttp, ...families } = given;
  const more = {
    labels: { [label.service]: role },
    annotations: role === 'media' ? annotations : ofHttp,
    ...(index === undefined ? {} : { index }),
  };
  return { apiVersion: 'v1', kind: 'Service', metadata: ownedMeta(cluster, name, more), spec: { ...spec, ...families, selector } };
}
