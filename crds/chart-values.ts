// Chart values: the zod schema behind helm/values.schema.json and the descriptions in docs/reference/chart.md.
import { z } from 'zod';
import { annotations, embeddedKubernetesType, labels } from './schema.ts';
import { type Json, kubernetesJson } from './structural.ts';
import { mediaClusterSchema } from './types.ts';

const image = (what: string, pullPolicy = false) =>
  z.object({
    repository: z
      .string()
      .min(1)
      .meta({ description: `Image of ${what}.` }),
    tag: z.string().meta({ description: 'Its tag; the version of the chart if empty.' }),
    digest: z
      .string()
      .regex(/^(sha256:[0-9a-f]{64})?$/)
      .meta({ description: 'Its digest, which takes precedence over the tag.' }),
    ...(pullPolicy ? { pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).meta({ description: 'When the image is pulled.' }) } : {}),
  });

const objectName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$/;

const serviceMonitorLabels = labels.meta({ description: 'Labels by which your Prometheus selects ServiceMonitors and rules.' });

/** All values are required, because Helm passes the defaults of values.yaml. */
const chartValuesSchema = z.object({
  operator: z.object({
    image: image('the operator', true),
    replicas: z.int().min(0).max(5).meta({ description: 'Processes of the operator; one of them is the leader, the others wait.' }),
    highAvailability: z.boolean().meta({
      description:
        'At least two processes of the operator on different Kubernetes nodes and zones if possible, a PodDisruptionBudget, and a replacement after 30 s for a process whose Kubernetes node is lost.',
    }),
    watchNamespaces: z.array(z.string().regex(/^(\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$/)).meta({
      description:
        "Namespaces that the operator watches; the namespace of the release if empty, `['*']` for all. Only one installation may watch a namespace.",
    }),
    clusterDomain: z
      .string()
      .regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/)
      .meta({ description: 'DNS domain of the Kubernetes cluster.' }),
    traces: z.strictObject({
      endpoint: z
        .string()
        .regex(/^(https?:\/\/[^\s/@?#]+(\/[^\s@?#]*)?)?$/)
        .meta({ description: 'Collector of OpenTelemetry (OTLP over HTTP), for example http://collector:4318/v1/traces; none if empty.' }),
      samplePercent: z.int().min(0).max(100).meta({ description: 'Share of changes of Rooms that are traced.' }),
    }),
    logLevel: z.enum(['error', 'warning', 'info', 'debug']).meta({ description: 'Log level.' }),
    resources: embeddedKubernetesType('Resources of the container.'),
    priorityClassName: z.string().meta({ description: 'PriorityClass of the pod.' }),
    podLabels: labels.meta({ description: 'Additional labels of the pod.' }),
    podAnnotations: annotations.meta({ description: 'Annotations of the pod.' }),
    nodeSelector: labels.meta({ description: 'As in a Pod.' }),
    tolerations: z.array(embeddedKubernetesType('As in a Pod.')).meta({ description: 'As in a Pod.' }),
    affinity: embeddedKubernetesType(
      'As in a Pod. With highAvailability, and if topologySpreadConstraints is empty too: operators prefer different Kubernetes nodes and zones.',
    ),
    topologySpreadConstraints: z.array(embeddedKubernetesType('As in a Pod.')).meta({ description: 'As in a Pod.' }),
    networkPolicy: z.object({
      enabled: z.boolean().meta({
        description:
          'Create a NetworkPolicy for the operator: metrics for pods of the Kubernetes cluster; outgoing only DNS, the API server and the HTTP port of media nodes.',
      }),
      apiServerPorts: z.array(z.int().min(1).max(65_535)).min(1).max(8).meta({
        description:
          'Ports of the API server, at its Service and at the computers behind it, because network plugins differ in which they check.',
      }),
    }),
  }),
  node: z.object({ image: image('the media nodes, for a MediaCluster without spec.image') }),
  imagePullSecrets: z
    .array(z.object({ name: z.string().meta({ description: 'Name of a Secret.' }) }))
    .meta({ description: 'Secrets for pulling all images.' }),
  podSecurity: z.object({
    fixedUser: z.boolean().meta({
      description:
        'Run all pods as user and group 10001. Set it to false if the platform assigns users and groups to namespaces, as OpenShift does.',
    }),
  }),
  serviceAccount: z.object({
    name: z
      .string()
      .regex(objectName)
      .meta({ description: 'Name of the ServiceAccount of the operator; the name of the release if empty.' }),
    annotations: annotations.meta({ description: 'Its annotations.' }),
  }),
  rbac: z.object({
    create: z.boolean().meta({
      description:
        'Create Roles and their bindings. If false, create those that the chart renders with true, for the ServiceAccounts of the operator and of the hook of `helm uninstall` (`RELEASE-operator-uninstall`).',
    }),
    nodes: z
      .boolean()
      .meta({ description: 'Permission to read Nodes: needed for external addresses of Kubernetes nodes and for draining cordoned ones.' }),
    definitions: z.boolean().meta({ description: 'Permission to upgrade older CustomResourceDefinitions at startup.' }),
    aggregate: z.boolean().meta({
      description: 'Create ClusterRoles that add Rooms and MediaClusters to the roles `view`, `edit` and `admin` of Kubernetes.',
    }),
  }),
  mediaCluster: z.object({
    create: z.boolean().meta({ description: 'Create a MediaCluster.' }),
    name: z
      .string()
      .max(40)
      .regex(/^([a-z]([-a-z0-9]*[a-z0-9])?)?$/)
      .meta({ description: 'Its name; the name of the release if empty.' }),
    annotations: annotations.meta({ description: 'Its annotations.' }),
    spec: mediaClusterSchema.shape.spec.meta({ description: 'Its spec, see [resources.md](resources.md).' }),
  }),
  priorityClass: z.object({
    create: z.boolean().meta({ description: 'Create a PriorityClass for the media nodes.' }),
    value: z.int().min(-2_147_483_648).max(1_000_000_000).meta({ description: 'Its value.' }),
  }),
  monitoring: z.object({
    serviceMonitor: z.object({
      create: z.boolean().meta({
        description: 'Create a Service and a ServiceMonitor for the operator; mediaCluster.spec.monitoring does it for the nodes.',
      }),
      labels: serviceMonitorLabels,
      interval: z
        .string()
        .regex(/^[0-9]+(ms|s|m|h)$/)
        .meta({ description: 'Scrape interval.' }),
    }),
    alerts: z.object({
      create: z.boolean().meta({ description: 'Create a PrometheusRule from monitoring/alert-rules.yaml.' }),
      labels: serviceMonitorLabels,
    }),
    dashboard: z.object({
      create: z.boolean().meta({ description: 'Create a ConfigMap from monitoring/grafana-dashboard.json.' }),
      labels: labels.meta({ description: 'Labels by which your Grafana selects dashboards.' }),
    }),
  }),
  test: z.object({
    media: z.boolean().meta({
      description:
        'Whether `helm test` also probes the media address. Set it to false if only clients outside of the cluster reach that address.',
    }),
  }),
  uninstall: z.object({
    deleteResources: z.boolean().meta({
      description:
        'Whether `helm uninstall` deletes all Rooms and MediaClusters of the watched namespaces. If false, they stay with their pods, and only the finalizers of the operator are removed.',
    }),
    deleteClaims: z.boolean().meta({
      description:
        'Whether it deletes the volume claims and the generated Secrets of these MediaClusters too. It needs uninstall.deleteResources.',
    }),
    timeoutSeconds: z.int().min(1).max(86_400).meta({
      description: 'Seconds that `helm uninstall` waits for the operator to end; with deleteResources, for Rooms and nodes to end.',
    }),
  }),
});

/** Rejects unknown names, except `global`, which Helm itself may add. */
function strict(schema: Json, top = true): Json {
  const made: Json = {};
  const preserved = schema['x-kubernetes-preserve-unknown-fields'] === true;
  for (const [key, value] of Object.entries(schema)) {
    if (key.startsWith('x-kubernetes-') || key === 'required' || key === 'default') continue;
    if (key === 'properties') {
      made.properties = Object.fromEntries(
        Object.entries(value as Record<string, Json>).map(([name, each]) => [name, strict(each, false)]),
      );
    } else if (key === 'items' || (key === 'additionalProperties' && typeof value === 'object')) made[key] = strict(value as Json, false);
    else if (key === 'anyOf') made.anyOf = (value as Json[]).map((each) => strict(each, false));
    else made[key] = value;
  }
  if (preserved) delete made.additionalProperties;
  if (made.properties) made.additionalProperties = false;
  if (top) made.properties = { ...(made.properties as Json), global: {} };
  return made;
}

export function chartSchema(): Json {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart mediarooms',
    ...strict({ ...kubernetesJson(chartValuesSchema, 'draft-7'), $schema: undefined }),
  };
}

type Node = { properties?: Record<string, Json>; description?: string };

/** Rows of docs/reference/chart.md: each leaf value with its default in values.yaml and its meaning. */
export function chartRows(defaults: Json, schema: Json = chartSchema(), path = ''): string[] {
  return Object.entries((schema as Node).properties ?? {}).flatMap(([name, each]) => {
    if (path === '' && name === 'global') return [];
    const at = path === '' ? name : `${path}.${name}`;
    const value = (defaults as Record<string, unknown> | undefined)?.[name];
    if ((each as Node).properties && at !== 'mediaCluster.spec') return chartRows(value as Json, each, at);
    return [`| \`${at}\` | \`${JSON.stringify(value)}\` | ${(each as Node).description ?? ''} |`];
  });
}
