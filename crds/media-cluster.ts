// MediaCluster resource: a cluster of media nodes and the Kubernetes objects that they need.
import { z } from 'zod';
import type { Rule } from '../api/core/kube.ts';
import { gateway, ingress, turn } from './cluster-access.ts';
import { autoscaling } from './cluster-autoscaling.ts';
import { clusterConfigSchema } from './cluster-config.ts';
import { externalDns, network, services } from './cluster-network.ts';
import { media, podTemplate, storage } from './cluster-pods.ts';
import {
  conditions,
  embeddedKubernetesType,
  integer,
  labels,
  limitedText,
  listMap,
  observedGeneration,
  quantity,
  roomSecretLabel,
  secretName,
  withRules,
} from './schema.ts';

const reference = (what: string) => z.object({ name: secretName }).meta({ description: what });

/** Every key of these Secrets is used as a token or signing key, so each Secret must be separate. */
const ownSecret = (field: string): Rule => {
  const others = ['apiTokens', 'secretKeys', 'cookie', 'accessKeys', 's3', 'webhooks'].filter((each) => each !== field);
  const same = others.map((other) => `(has(self.${other}) && self.${other}.name == self.${field}.name)`);
  return {
    rule: `!has(self.${field}) || !(${same.join(' || ')})`,
    message: 'must name a separate Secret, because all of its keys are used',
    fieldPath: `.${field}`,
  };
};

const secrets = withRules(
  z.object({
    apiTokens: reference(
      'Secret whose values are API tokens, named by their keys; a token whose key ends with `.read` may only read. If omitted, the operator creates `<name>-api-tokens` with the keys `operator` and `admin`.',
    ).optional(),
    secretKeys: reference(
      'Secret with the token keys: `current`, and `next` or `previous` during a rotation. If omitted, the operator creates `<name>-secret-keys`.',
    ).optional(),
    cookie: reference('Secret with the `cookie` of the cluster. If omitted, the operator creates `<name>-cookie`.').optional(),
    accessKeys: reference(
      'Secret whose values are access keys, with which backends sign access tokens: secrets of at least 32 characters, or public keys as PEM. The name of a value is the id of the key; tokens of a key whose id ends with `.join` create no rooms. If omitted, the nodes accept no access tokens.',
    ).optional(),
    s3: reference('Secret with `accessKeyId` and `secretAccessKey` of config.s3.').optional(),
    webhooks: reference('Secret whose values are webhook signing keys (`whsec_`...).').optional(),
  }),
  ...['apiTokens', 'accessKeys', 'webhooks'].map(ownSecret),
).meta({ description: 'Secrets of the cluster, of the same namespace.' });

const drainTimeout = integer(0, 604_800);
const drainCause = (what: string) => z.object({ timeoutSeconds: drainTimeout.optional().meta({ description: what }) });

const drain = z
  .object({
    timeoutSeconds: drainTimeout.default(3600).meta({
      description:
        'Seconds that live rooms have to end before their node is removed, and if their pod is deleted. A change causes a rollout; the timeouts of single causes do not.',
    }),
    rollout: drainCause('Seconds, if a pod of a new template replaces the pod; timeoutSeconds of drain if omitted.')
      .optional()
      .meta({ description: 'Drains of a rollout.' }),
    scaleDown: drainCause('Seconds, if the number of nodes is reduced; timeoutSeconds of drain if omitted.')
      .optional()
      .meta({ description: 'Drains because of fewer nodes.' }),
    node: drainCause('Seconds, if the Kubernetes node of the pod will be removed; timeoutSeconds of drain if omitted.')
      .extend({
        onCordon: z.enum(['drain', 'keep']).default('drain').meta({
          description:
            'drain: the pods of a cordoned Kubernetes node are replaced and drained; keep: they stay and accept rooms until an autoscaler announces the removal of the Kubernetes node with a taint.',
        }),
      })
      .optional()
      .meta({ description: 'Drains because of a Kubernetes node.' }),
  })
  .meta({ description: 'Draining.' });

const rollout = z
  .object({
    paused: z
      .boolean()
      .default(false)
      .meta({ description: 'Replace no further pods of an older template. A drain that has begun continues; missing pods are created.' }),
    partition: integer(0, 100)
      .default(0)
      .meta({ description: 'Number of pods that keep the older template: the rollout stops when only they are left.' }),
    surgeTimeoutSeconds: integer(0, 86_400).default(600).meta({
      description:
        'Seconds that the extra pod of a rollout waits for a Kubernetes node. Then the rollout continues without an extra pod: an old pod is drained before its successor is ready. 0: no extra pod from the start.',
    }),
  })
  .meta({ description: 'Replacement of pods of an older template, one at a time.' });

const monitoring = z
  .object({
    serviceMonitor: z
      .object({
        labels: labels.optional().meta({ description: 'Labels of the ServiceMonitor.' }),
        interval: limitedText(16, /^[0-9]+(ms|s|m|h)$/, 'must be a duration such as 30s')
          .optional()
          .meta({ description: 'Scrape interval of Prometheus, for example 30s.' }),
      })
      .optional()
      .meta({ description: 'Creates a ServiceMonitor, if the API server supports it.' }),
  })
  .meta({ description: 'Monitoring.' });

const networkPolicy = z
  .object({
    enabled: z.boolean().default(true).meta({ description: 'Create a NetworkPolicy.' }),
    httpFrom: z.array(embeddedKubernetesType('A peer, as in `from` of a NetworkPolicy.')).max(16).optional().meta({
      description:
        'Additional sources of HTTP, next to the pods of the Kubernetes cluster: addresses of a load balancer that connects to pods, of its health checks, or of Kubernetes nodes with an Ingress controller in the host network.',
    }),
    monitoringFrom: z
      .array(embeddedKubernetesType('A peer, as in `from` of a NetworkPolicy.'))
      .max(16)
      .optional()
      .meta({ description: 'Pods and addresses that may read metrics; the whole Kubernetes cluster if omitted.' }),
  })
  .meta({ description: 'NetworkPolicy with the allowed sources of each port.' });

const sip = z
  .object({
    calls: integer(1, 500).default(20).meta({ description: 'Concurrent phone calls of a node; each uses one UDP port.' }),
    components: integer(1, 50).default(4).meta({
      description: 'Components of type sip of a node that register over UDP; each uses one port. Over TCP and TLS they need no port.',
    }),
  })
  .meta({
    description:
      'Ports of SIP and of the audio of phone calls, after the other ports of a pod and exposed in the same way; required for components of type sip. A change causes a rollout.',
  });

const livekit = z
  .object({
    enabled: z.boolean().default(false).meta({ description: 'Accept clients of LiveKit, with access tokens of secrets.accessKeys.' }),
  })
  .meta({ description: "LiveKit's protocol. A change causes a rollout." });

const keyRotation = z
  .object({
    generation: withRules(integer(0, 1_000_000), { rule: 'self >= oldSelf', message: 'can only be raised' }).meta({
      description: 'Raise it by one to rotate the token keys now.',
    }),
  })
  .meta({ description: 'Rotation of the token keys that the operator created, in two steps and without a restart.' });

export const mediaClusterSpecSchema = withRules(
  z
    .object({
      replicas: integer(0, 100).default(1).meta({ description: 'Number of nodes, if autoscaling is not set.' }),
      autoscaling: autoscaling.optional(),
      maxReplicas: integer(1, 100).default(10).meta({
        description:
          'Maximum number of nodes. The Ingress has a path for each, one for rollouts, and one for each pod that replaces one of a lost Kubernetes node.',
      }),
      image: limitedText(1024, /^[^\s]+$/, 'must be the name of an image, without spaces')
        .optional()
        .meta({
          description:
            'Image of the media node. If omitted, new pods get the image of the version of the operator, whose upgrade alone replaces no pod. A change causes a rollout.',
        }),
      imagePullPolicy: z
        .enum(['Always', 'IfNotPresent', 'Never'])
        .optional()
        .meta({ description: 'When the image is pulled, as imagePullPolicy of a container.' }),
      imagePullSecrets: listMap('name', z.array(reference('A Secret.')).max(16))
        .optional()
        .meta({ description: 'Secrets for pulling the image.' }),
      resources: z
        .object({
          requests: z.record(z.string(), quantity).optional().meta({ description: 'Requested resources.', maxProperties: 8 }),
          limits: z.record(z.string(), quantity).optional().meta({ description: 'Resource limits.', maxProperties: 8 }),
        })
        .optional()
        .meta({
          description:
            'Resources of the node container; requests of 100m CPU and 256Mi memory, and no limits, if omitted. A change causes a rollout.',
        }),
      workersPerNode: integer(1, 64)
        .default(1)
        .meta({ description: 'Media workers of a node; each uses one port (UDP and TCP) and up to one core. A change causes a rollout.' }),
      podTemplate: podTemplate.optional(),
      media: media.optional(),
      ingress: ingress.optional(),
      gateway: gateway.optional(),
      services: services.optional(),
      externalDns: externalDns.optional(),
      trustedProxies: z.array(network).min(1).max(16).optional().meta({
        description:
          'Networks of the proxies whose X-Forwarded-For is trusted, for example of the pods of the Ingress controller. If omitted: one proxy at any address with ingress or gateway (at a private address, if clients can reach the pod directly), none without. A change causes a rollout.',
      }),
      config: clusterConfigSchema.optional(),
      secrets: secrets.optional(),
      roomSecrets: z
        .enum(['labeled', 'any'])
        .optional()
        .meta({
          description: `Secrets of the namespace that Rooms may name: labeled (\`${roomSecretLabel}: "true"\`) or any; labeled if omitted. With any, an author of Rooms can read each Secret of the namespace.`,
        }),
      keyRotation: keyRotation.optional(),
      distributionTls: z.enum(['off', 'optional', 'required']).optional().meta({
        description:
          'TLS between the nodes, with a CA of the cluster and a certificate that the operator creates and renews; off if omitted. A running cluster migrates through optional, which also accepts and opens plain connections. A change causes a rollout.',
      }),
      storage: storage.optional(),
      turn: turn.optional(),
      sip: sip.optional(),
      livekit: livekit.optional(),
      drain: drain.optional(),
      rollout: rollout.optional(),
      monitoring: monitoring.optional(),
      networkPolicy: networkPolicy.optional(),
    })
    .meta({ description: 'Desired state of the media nodes.' }),
  // The default guarantees a number that `kubectl scale` can change.
  { rule: '!has(self.autoscaling) || self.replicas == 1', message: 'set replicas or autoscaling, not both', fieldPath: '.replicas' },
  { rule: '!(has(self.ingress) && has(self.gateway))', message: 'accepts ingress or gateway, not both', fieldPath: '.gateway' },
  {
    rule: 'self.replicas <= self.maxReplicas',
    message: 'must not be above maxReplicas, which bounds paths and pod indexes',
    fieldPath: '.replicas',
  },
  {
    rule: '!has(self.autoscaling) || self.autoscaling.maxReplicas <= self.maxReplicas',
    message: 'must not be above spec.maxReplicas, which bounds paths and pod indexes',
    fieldPath: '.autoscaling.maxReplicas',
  },
  {
    rule: '!has(self.media) || !has(self.media.ports) || self.media.ports.from > self.media.ports.to || self.media.ports.to - self.media.ports.from + 1 >= self.workersPerNode + (has(self.turn) && self.turn.enabled ? (has(self.turn.tlsSecretName) ? 2 : 1) : 0) + (has(self.sip) ? self.sip.calls + self.sip.components : 0)',
    message:
      'must have a port for each of workersPerNode, one for TURN and one for TURN over TLS if they are enabled, and the ports of sip',
    fieldPath: '.media.ports',
  },
  {
    rule: '!has(self.turn) || !has(self.turn.tlsSecretName) || has(self.turn.tlsRoutes) || !has(self.media) || !has(self.media.loadBalancer) || !has(self.media.loadBalancer.udpOnly) || !self.media.loadBalancer.udpOnly',
    message: 'needs media.loadBalancer.udpOnly: false or turn.tlsRoutes, because TURN over TLS uses TCP',
    fieldPath: '.turn.tlsSecretName',
  },
  {
    rule: "!has(self.turn) || !has(self.turn.tlsPort) || (has(self.media) && self.media.exposure == 'loadBalancer')",
    message: 'needs media.exposure: loadBalancer, because it is a port of the load balancer of the pod',
    fieldPath: '.turn.tlsPort',
  },
  {
    rule: "!has(self.config) || !has(self.config.componentsUsed) || !('sip' in self.config.componentsUsed) || has(self.sip)",
    message: 'needs spec.sip, the ports of phone calls, for components of type sip',
    fieldPath: '.config.componentsUsed',
  },
  {
    rule: '!has(self.config) || !has(self.config.s3) || (has(self.secrets) && has(self.secrets.s3))',
    message: 'needs secrets.s3, the Secret with accessKeyId and secretAccessKey',
    fieldPath: '.config.s3',
  },
);
export type MediaClusterSpec = z.infer<typeof mediaClusterSpecSchema>;

const node = z
  .object({
    name: z.string().meta({ description: 'Name of the pod.' }),
    node: z.string().optional().meta({ description: 'Name in the cluster of media nodes.' }),
    address: z.string().optional().meta({ description: 'Media address.' }),
    state: z.string().meta({ description: 'Pending, Ready, Draining, Terminating or Lost.' }),
    rooms: integer(0, 1_000_000).optional().meta({ description: 'Rooms on the node.' }),
    forwardedTracks: integer(0, 100_000_000).optional().meta({ description: 'Tracks that the node forwards.' }),
    message: z.string().optional().meta({ description: 'Why the node is in this state.' }),
  })
  .meta({ description: 'A node.' });

export const mediaClusterStatusSchema = z
  .object({
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
    replicas: integer(0, 1_000).optional().meta({ description: 'Pods that exist.' }),
    readyReplicas: integer(0, 1_000).optional().meta({ description: 'Pods that are ready.' }),
    desiredReplicas: integer(0, 1_000).optional().meta({ description: 'Desired number of pods.' }),
    selector: z.string().optional().meta({ description: 'Label selector of the pods, for the scale subresource.' }),
    rooms: integer(0, 10_000_000).optional().meta({ description: 'Rooms on all nodes.' }),
    forwardedTracks: integer(0, 1_000_000_000).optional().meta({ description: 'Forwarded tracks on all nodes.' }),
    keyGeneration: integer(0, 1_000_000).optional().meta({ description: 'Generation of the last completed key rotation.' }),
    adminTokenSecret: z.string().optional().meta({ description: 'Secret that holds the API tokens.' }),
    url: z.string().optional().meta({ description: 'Address of the API for clients.' }),
    nodes: listMap('name', z.array(node)).optional().meta({ description: 'The nodes.' }),
  })
  .meta({ description: 'Observed state of the nodes.' });
export type MediaClusterStatus = z.infer<typeof mediaClusterStatusSchema>;
