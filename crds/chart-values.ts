// The values of the Helm chart: what values.schema.json refuses, and what docs/reference/chart.md says of each.
import { z } from 'zod';
import { annotations, embeddedKubernetesType, labels } from './schema.ts';
import type { Json } from './structural.ts';
import { mediaClusterSchema } from './types.ts';

const image = (what: string, pullPolicy = false) =>
  z.object({
    repository: z
      .string()
      .min(1)
      .meta({ description: `Image of ${what}.` }),
    tag: z.string().meta({ description: "Its tag; the chart's version where empty." }),
    digest: z
      .string()
      .regex(/^(sha256:[0-9a-f]{64})?$/)
      .meta({ description: 'Its digest, which wins over the tag.' }),
    ...(pullPolicy ? { pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).meta({ description: 'When it is pulled.' }) } : {}),
  });

const objectName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$/;

const serviceMonitorLabels = labels.meta({ description: 'Labels that your Prometheus selects by.' });

/** All of them: Helm gives the defaults of values.yaml, so none is optional for the templates. */
export const chartValuesSchema = z.object({
  operator: z.object({
    image: image('the operator', true),
    replicas: z.int().min(0).max(5).meta({ description: 'Processes of the operator; one of them works, the others wait.' }),
    watchNamespaces: z
      .array(z.string().regex(/^(\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$/))
      .meta({ description: "Namespaces that it looks after; the release's where empty, `['*']` for all. Each by one installation only." }),
    logLevel: z.enum(['error', 'warning', 'info', 'debug']).meta({ description: 'Level of its log.' }),
    resources: embeddedKubernetesType('Resources of its container.'),
    priorityClassName: z.string().meta({ description: 'Priority class of its pod.' }),
    podLabels: labels.meta({ description: 'More labels of its pod.' }),
    podAnnotations: annotations.meta({ description: 'Annotations of its pod.' }),
    nodeSelector: labels.meta({ description: 'As in a Pod.' }),
    tolerations: z.array(embeddedKubernetesType('As in a Pod.')).meta({ description: 'As in a Pod.' }),
    affinity: embeddedKubernetesType('As in a Pod.'),
    topologySpreadConstraints: z.array(embeddedKubernetesType('As in a Pod.')).meta({ description: 'As in a Pod.' }),
  }),
  node: z.object({ image: image('the media nodes, where the MediaCluster names none') }),
  imagePullSecrets: z
    .array(z.object({ name: z.string().meta({ description: 'Name of a Secret.' }) }))
    .meta({ description: 'Secrets to pull all images with.' }),
  serviceAccount: z.object({
    name: z.string().regex(objectName).meta({ description: "Name of the operator's ServiceAccount; that of the release where empty." }),
    annotations: annotations.meta({ description: 'Its annotations.' }),
  }),
  rbac: z.object({
    create: z.boolean().meta({
      description:
        'Make Roles and their bindings. Where they come from elsewhere: those that the chart shows with true, all for the ServiceAccount of the operator, which the hook of `helm uninstall` has then as well.',
    }),
    nodes: z.boolean().meta({ description: 'May read Nodes: external addresses of hosts, and draining when a host is cordoned.' }),
    definitions: z.boolean().meta({ description: 'May replace older CustomResourceDefinitions at its start.' }),
  }),
  mediaCluster: z.object({
    create: z.boolean().meta({ description: 'Make a MediaCluster.' }),
    name: z
      .string()
      .max(40)
      .regex(/^([a-z]([-a-z0-9]*[a-z0-9])?)?$/)
      .meta({ description: 'Its name; that of the release where empty.' }),
    annotations: annotations.meta({ description: 'Its annotations.' }),
    spec: mediaClusterSchema.shape.spec.meta({ description: 'Its spec as it is: [resources.md](resources.md).' }),
  }),
  priorityClass: z.object({
    create: z.boolean().meta({ description: 'Make a PriorityClass for the media nodes.' }),
    value: z.int().min(-2_147_483_648).max(1_000_000_000).meta({ description: 'Its value.' }),
  }),
  monitoring: z.object({
    serviceMonitor: z.object({
      create: z
        .boolean()
        .meta({ description: 'Make a Service and a ServiceMonitor for the operator; those of the nodes are in mediaCluster.spec.' }),
      labels: serviceMonitorLabels,
      interval: z
        .string()
        .regex(/^[0-9]+(ms|s|m|h)$/)
        .meta({ description: 'How often it is scraped.' }),
    }),
    alerts: z.object({
      create: z.boolean().meta({ description: 'Make a PrometheusRule of monitoring/alert-rules.yaml.' }),
      labels: serviceMonitorLabels,
    }),
    dashboard: z.object({
      create: z.boolean().meta({ description: 'Make a ConfigMap of monitoring/grafana-dashboard.json.' }),
      labels: labels.meta({ description: 'Labels that your Grafana selects by.' }),
    }),
  }),
  test: z.object({
    media: z.boolean().meta({
      description: 'Whether `helm test` also asks the media address: not where only clients outside of the cluster reach it.',
    }),
  }),
  uninstall: z.object({
    timeoutSeconds: z.int().min(1).max(86_400).meta({ description: 'How long `helm uninstall` waits for Rooms and nodes to end.' }),
  }),
});

/** Unknown names are refused, but for `global`, which Helm itself may add. */
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
  const schema = z.toJSONSchema(chartValuesSchema, { io: 'input', unrepresentable: 'any', target: 'draft-7' }) as Json;
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart mediarooms',
    ...strict({ ...schema, $schema: undefined }),
  };
}

type Node = { properties?: Record<string, Json>; description?: string };

/** Rows of docs/reference/chart.md: each value that is no group, with its default in values.yaml and its meaning. */
export function chartRows(defaults: Json, schema: Json = chartSchema(), path = ''): string[] {
  return Object.entries((schema as Node).properties ?? {}).flatMap(([name, each]) => {
    if (path === '' && name === 'global') return [];
    const at = path === '' ? name : `${path}.${name}`;
    const value = (defaults as Record<string, unknown> | undefined)?.[name];
    if ((each as Node).properties && at !== 'mediaCluster.spec') return chartRows(value as Json, each, at);
    return [`| \`${at}\` | \`${JSON.stringify(value)}\` | ${(each as Node).description ?? ''} |`];
  });
}
