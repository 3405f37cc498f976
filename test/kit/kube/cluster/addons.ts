// Add-ons of a usual cluster: DNS (CoreDNS) and an Ingress controller (Traefik). Pure.
import { clusterDns } from './node-files.ts';

export const coreDnsImage = 'localhost/coredns:1';
export const traefikImage = 'localhost/traefik:1';
/** Port of Gateway listeners on the Ingress controller, which clients reach at 443. */
export const securePort = 8443;
const namespace = 'kube-system';

const corefile = `.:53 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    ttl 5
  }
  reload
}
`;

export type AddonOptions = {
  /** Kubernetes node of both, which a test does not stop. */
  host: string;
  /** Whether Traefik supports the Gateway API and its own kinds too, whose CRDs must exist. */
  routes: boolean;
};

export function addons({ host, routes }: AddonOptions): object[] {
  const nodeSelector = { 'kubernetes.io/hostname': host };
  return [...dns(nodeSelector), ...ingressController(nodeSelector, routes)];
}

function dns(nodeSelector: object): object[] {
  return [
    ...account('coredns', [
      { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    ]),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'coredns', namespace }, data: { Corefile: corefile } },
    deployment('coredns', {
      nodeSelector,
      dnsPolicy: 'Default',
      containers: [
        {
          name: 'coredns',
          image: coreDnsImage,
          imagePullPolicy: 'Never',
          args: ['-conf', '/etc/coredns/Corefile'],
          volumeMounts: [{ name: 'config', mountPath: '/etc/coredns' }],
          readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
        },
      ],
      volumes: [{ name: 'config', configMap: { name: 'coredns' } }],
    }),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace },
      spec: {
        clusterIP: clusterDns,
        selector: { app: 'coredns' },
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'dns-tcp', port: 53, protocol: 'TCP' },
        ],
      },
    },
  ];
}

function ingressController(nodeSelector: object, routes: boolean): object[] {
  return [
    ...account('traefik', [
      {
        apiGroups: [''],
        resources: ['services', 'secrets', 'nodes', 'endpoints', 'configmaps', 'namespaces'],
        verbs: ['get', 'list', 'watch'],
      },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'ingressclasses'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['networking.k8s.io'], resources: ['ingresses/status'], verbs: ['update'] },
      ...(routes ? routeRules : []),
    ]),
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'traefik', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
      spec: { controller: 'traefik.io/ingress-controller' },
    },
    ...(routes ? [gatewayClass] : []),
    deployment('traefik', {
      nodeSelector,
      containers: [
        {
          name: 'traefik',
          image: traefikImage,
          imagePullPolicy: 'Never',
          args: [
            '--providers.kubernetesingress',
            ...(routes ? ['--providers.kubernetesgateway', '--providers.kubernetescrd'] : []),
            '--entrypoints.web.address=:8000',
            `--entrypoints.websecure.address=:${securePort}`,
            '--entrypoints.websecure.http.tls=true',
            '--ping',
            '--global.checknewversion=false',
            '--global.sendanonymoususage=false',
            '--log.level=INFO',
          ],
          ports: [
            { containerPort: 8000, hostPort: 80 },
            { containerPort: securePort, hostPort: 443 },
          ],
          readinessProbe: { httpGet: { path: '/ping', port: 8080 }, periodSeconds: 1 },
        },
      ],
    }),
  ];
}

const gatewayClass = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'traefik' },
  spec: { controllerName: 'traefik.io/gateway-controller' },
};

const gatewayKinds = ['gatewayclasses', 'gateways', 'httproutes', 'grpcroutes'];
const routeRules = [
  { apiGroups: ['gateway.networking.k8s.io'], resources: [...gatewayKinds, 'referencegrants'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['gateway.networking.k8s.io'], resources: gatewayKinds.map((kind) => `${kind}/status`), verbs: ['update'] },
  { apiGroups: ['traefik.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
];

function deployment(name: string, pod: object): object {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { serviceAccountName: name, ...pod } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: { selector: { matchLabels: labels }, template },
  };
}

function account(name: string, rules: object[]): object[] {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef,
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ];
}
