// Third-party CRDs used by chart and operator, reduced to the used fields, so that a wrong field name is rejected.

type Schema = Record<string, unknown>;
const text: Schema = { type: 'string' };
const texts: Schema = { type: 'object', additionalProperties: text };
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
});
const port: Schema = { type: 'integer', minimum: 1, maximum: 65_535 };

function definition(group: string, version: string, kind: string, spec: Schema): object {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    // Some groups are reserved for approved kinds, which these are.
    metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/enhancements' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: object({ spec }, ['spec']) } }],
    },
  };
}

const rule = object({ alert: text, expr: text, for: text, labels: texts, annotations: texts, keep_firing_for: text, record: text }, [
  'expr',
]);

/** https://prometheus-operator.dev/docs/api-reference/api/ */
export const monitoringDefinitions = [
  definition(
    'monitoring.coreos.com',
    'v1',
    'ServiceMonitor',
    object(
      {
        jobLabel: text,
        selector: object({ matchLabels: texts }),
        endpoints: listOf(
          object({
            port: text,
            path: text,
            interval: text,
            relabelings: listOf(object({ sourceLabels: listOf(text), targetLabel: text, replacement: text })),
          }),
        ),
      },
      ['selector', 'endpoints'],
    ),
  ),
  definition(
    'monitoring.coreos.com',
    'v1',
    'PrometheusRule',
    object({ groups: listOf(object({ name: text, interval: text, rules: listOf(rule) }, ['name'])) }),
  ),
];

const pathMatch = object({ type: { type: 'string', enum: ['Exact', 'PathPrefix', 'RegularExpression'] }, value: text });

const parentRefs = listOf(object({ group: text, kind: text, namespace: text, name: text, sectionName: text, port }, ['name']));
const backendRefs = listOf(object({ group: text, kind: text, name: text, port }, ['name']));

/** https://gateway-api.sigs.k8s.io/reference/spec/#httproute */
export const routeDefinition = definition(
  'gateway.networking.k8s.io',
  'v1',
  'HTTPRoute',
  object({
    parentRefs,
    hostnames: listOf(text),
    rules: {
      ...listOf(
        object({
          matches: listOf(object({ path: pathMatch })),
          backendRefs,
          timeouts: object({ request: text, backendRequest: text }),
        }),
      ),
      maxItems: 16,
    },
  }),
);

/** https://gateway-api.sigs.k8s.io/reference/spec/#tlsroute and https://doc.traefik.io/traefik/routing/providers/kubernetes-crd/ */
export const tlsRouteDefinitions = [
  definition(
    'gateway.networking.k8s.io',
    'v1',
    'TLSRoute',
    object(
      {
        parentRefs,
        hostnames: { ...listOf(text), minItems: 1, maxItems: 16 },
        rules: { ...listOf(object({ name: text, backendRefs }, ['backendRefs'])), minItems: 1, maxItems: 1 },
      },
      ['hostnames', 'rules'],
    ),
  ),
  definition(
    'traefik.io',
    'v1alpha1',
    'IngressRouteTCP',
    object(
      {
        entryPoints: listOf(text),
        routes: listOf(
          object(
            {
              match: text,
              priority: { type: 'integer' },
              services: listOf(
                object({ name: text, port, weight: port, proxyProtocol: object({ version: { type: 'integer' } }) }, ['name', 'port']),
              ),
            },
            ['match'],
          ),
        ),
        tls: object({ passthrough: { type: 'boolean' }, secretName: text }),
      },
      ['routes'],
    ),
  ),
];

/** https://keda.sh/docs/latest/reference/scaledobject-spec/ */
export const kedaDefinitions = [
  definition(
    'keda.sh',
    'v1alpha1',
    'ScaledObject',
    object(
      {
        scaleTargetRef: object({ apiVersion: text, kind: text, name: text }, ['name']),
        minReplicaCount: { type: 'integer' },
        maxReplicaCount: { type: 'integer' },
        advanced: object({
          horizontalPodAutoscalerConfig: object({
            behavior: object({ scaleDown: object({ stabilizationWindowSeconds: { type: 'integer' } }) }),
          }),
        }),
        triggers: listOf(object({ type: text, metadata: texts }, ['type', 'metadata'])),
      },
      ['scaleTargetRef', 'triggers'],
    ),
  ),
];
