// The MediaCluster resource: media nodes that find each other, and all that Kubernetes needs around them.
import { z } from 'zod';
import { clusterConfigSchema } from './cluster-config.ts';
import { media, podTemplate, storage } from './cluster-pods.ts';
import {
  annotations,
  conditions,
  embeddedKubernetesType,
  integer,
  labels,
  limitedText,
  listMap,
  name,
  observedGeneration,
  quantity,
  type Rule,
  secretName,
  withRules,
} from './schema.ts';

const reference = (what: string) => z.object({ name: secretName }).meta({ description: what });

const autoscaling = withRules(
  z.object({
    minReplicas: integer(1, 100).default(1).meta({ description: 'Least number of nodes.' }),
    maxReplicas: integer(1, 100).meta({ description: 'Most nodes.' }),
    targetForwardedTracks: integer(1, 1_000_000).default(500).meta({ description: 'Forwarded tracks that a node should have on average.' }),
    scaleDownStabilizationSeconds: integer(0, 86_400)
      .default(300)
      .meta({ description: 'Seconds for which fewer nodes must be enough before one is removed.' }),
  }),
  { rule: 'self.minReplicas <= self.maxReplicas', message: 'minReplicas must not be above maxReplicas' },
).meta({ description: 'The operator chooses the number of nodes.' });

const host = limitedText(
  253,
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  'must be a host name in lower case, without a scheme, a port and a path',
).meta({ description: 'Host name of the API, the console and the sockets.' });

const ingress = z
  .object({
    host,
    className: name.optional().meta({ description: 'IngressClass; the default one where left out.' }),
    tls: z
      .object({ secretName: name.meta({ description: 'Secret with the certificate.' }) })
      .optional()
      .meta({ description: 'TLS; clients then get https and wss.' }),
    annotations: annotations.optional().meta({ description: 'Annotations of the Ingress.' }),
    port: integer(1, 65_535).optional().meta({ description: 'Port where clients reach the Ingress, if not 443 or 80.' }),
  })
  .meta({ description: 'An Ingress: one path for the API and one for each node.' });

const gateway = z
  .object({
    parentRefs: z
      .array(
        z
          .object({
            name: name.meta({ description: 'Its name.' }),
            namespace: name.optional().meta({ description: 'Its namespace; that of the MediaCluster where left out.' }),
            sectionName: name.optional().meta({ description: 'Its listener; all that fit where left out.' }),
          })
          .meta({ description: 'A Gateway.' }),
      )
      .min(1)
      .max(8)
      .meta({ description: 'Gateways whose routes are made.' }),
    host,
    tls: z.boolean().default(true).meta({ description: 'Whether the listener speaks TLS: clients then get https and wss.' }),
    port: integer(1, 65_535).optional().meta({ description: 'Port where clients reach the Gateway, if not 443 or 80.' }),
  })
  .meta({ description: 'HTTPRoutes of the Gateway API in place of an Ingress, where that kind exists.' });

/** All keys of these Secrets are taken, so whatever else they held would be a token or a key of signatures too. */
const ownSecret = (field: string): Rule => {
  const others = ['apiTokens', 'secretKeys', 'cookie', 's3', 'webhooks'].filter((each) => each !== field);
  const same = others.map((other) => `(has(self.${other}) && self.${other}.name == self.${field}.name)`);
  return {
    rule: `!has(self.${field}) || !(${same.join(' || ')})`,
    message: 'must name a Secret of its own, since all of its keys are taken',
    fieldPath: `.${field}`,
  };
};

const secrets = withRules(
  z.object({
    apiTokens: reference(
      'Secret whose values are API tokens, each key its name; the token of a key that ends with `.read` may only read. Made with a key `operator` and one `admin` where it does not exist.',
    ).optional(),
    secretKeys: reference(
      'Secret with the keys of tokens: `current`, and `next` or `previous` while they rotate; made where it does not exist.',
    ).optional(),
    cookie: reference('Secret with the `cookie` of the cluster; made where it does not exist.').optional(),
    s3: reference('Secret with `accessKeyId` and `secretAccessKey` of config.s3.').optional(),
    webhooks: reference('Secret whose values are keys of webhook signatures (`whsec_`...).').optional(),
  }),
  ...['apiTokens', 'webhooks'].map(ownSecret),
).meta({ description: 'Secrets of the cluster, of the same namespace.' });

const monitoring = z
  .object({
    serviceMonitor: z
      .object({
        labels: labels.optional().meta({ description: 'Labels of the ServiceMonitor.' }),
        interval: limitedText(16, /^[0-9]+(ms|s|m|h)$/, 'must be a time such as 30s')
          .optional()
          .meta({ description: 'How often Prometheus scrapes, e.g. 30s.' }),
      })
      .optional()
      .meta({ description: 'A ServiceMonitor, where that kind exists.' }),
  })
  .meta({ description: 'Monitoring.' });

const networkPolicy = z
  .object({
    enabled: z.boolean().default(true).meta({ description: 'Make a NetworkPolicy.' }),
    monitoringFrom: z
      .array(embeddedKubernetesType('As one of `from` in a NetworkPolicy.'))
      .max(16)
      .optional()
      .meta({ description: 'Who may read metrics; the whole cluster where left out.' }),
  })
  .meta({ description: 'NetworkPolicy: each port and who may use it.' });

const turn = withRules(
  z.object({
    enabled: z.boolean().default(false).meta({ description: 'Run TURN beside every node.' }),
    tlsSecretName: secretName
      .optional()
      .meta({ description: 'Secret of type kubernetes.io/tls (`tls.crt`, `tls.key`): with it there is TURN over TLS, too.' }),
    tlsHost: limitedText(
      253,
      /^(\*|(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$/,
      "must be a host name in lower case, of which a leading '*' stands for the address of a pod",
    )
      .optional()
      .meta({
        description:
          "Host of TURN over TLS in clients' URLs, as the certificate has it; a leading `*` stands for the media address of the pod, `203-0-113-7` for 203.0.113.7. The address itself where left out.",
      }),
  }),
  { rule: '!has(self.tlsSecretName) || self.enabled', message: 'tlsSecretName needs enabled: true' },
  { rule: '!has(self.tlsHost) || has(self.tlsSecretName)', message: 'tlsHost needs tlsSecretName' },
).meta({
  description: 'TURN beside every node, which relays to the media address of that node only (any UDP port of it). A change is a rollout.',
});

const sip = z
  .object({
    calls: integer(1, 500).default(20).meta({ description: 'Phone calls of a node at once; each takes one port (UDP).' }),
    components: integer(1, 50).default(4).meta({
      description: 'Components of type sip of a node that register over UDP; each takes one port. Over TCP and TLS they need none.',
    }),
  })
  .meta({
    description:
      'Ports of SIP and of the sound of phone calls, behind the other ports of a pod and exposed as these are; needed for components of type sip. A change is a rollout.',
  });

const keyRotation = z
  .object({
    generation: withRules(integer(0, 1_000_000), { rule: 'self >= oldSelf', message: 'can only be raised' }).meta({
      description: 'Raise it by one to rotate the keys of tokens now.',
    }),
  })
  .meta({ description: 'Rotation of the made keys of tokens, in two steps, without restart.' });

export const mediaClusterSpecSchema = withRules(
  z
    .object({
      replicas: integer(0, 100).default(1).meta({ description: 'Number of nodes, where autoscaling is not set.' }),
      autoscaling: autoscaling.optional(),
      maxReplicas: integer(1, 100)
        .default(10)
        .meta({ description: 'Bound of the indexes of pods, for which paths of the Ingress are made.' }),
      image: limitedText(1024, /^[^\s]+$/, 'must be the name of an image, without spaces')
        .optional()
        .meta({ description: "Image of the media node; that of the operator's version where left out. A change is a rollout." }),
      imagePullPolicy: z
        .enum(['Always', 'IfNotPresent', 'Never'])
        .optional()
        .meta({ description: 'When the image is pulled, as imagePullPolicy of a container.' }),
      imagePullSecrets: listMap('name', z.array(reference('A Secret.')).max(16))
        .optional()
        .meta({ description: 'Secrets by which the image is pulled.' }),
      resources: z
        .object({
          requests: z.record(z.string(), quantity).optional().meta({ description: 'What is set aside for it.', maxProperties: 8 }),
          limits: z.record(z.string(), quantity).optional().meta({ description: 'The most that it gets.', maxProperties: 8 }),
        })
        .optional()
        .meta({ description: 'Resources of the node container. A change is a rollout.' }),
      workersPerNode: integer(1, 64)
        .default(1)
        .meta({ description: 'Media workers of a node; each takes one port (UDP and TCP) and up to one core. A change is a rollout.' }),
      podTemplate: podTemplate.optional(),
      media: media.optional(),
      ingress: ingress.optional(),
      gateway: gateway.optional(),
      config: clusterConfigSchema.optional(),
      secrets: secrets.optional(),
      keyRotation: keyRotation.optional(),
      distributionTls: z.enum(['off', 'optional', 'required']).optional().meta({
        description:
          'TLS between the nodes, with an authority of the cluster and a certificate that the operator makes and renews; off where left out. A running cluster changes to it through optional, which takes and dials plain connections too. A change is a rollout.',
      }),
      storage: storage.optional(),
      turn: turn.optional(),
      sip: sip.optional(),
      drain: z
        .object({
          timeoutSeconds: integer(0, 604_800).default(3600).meta({ description: 'Seconds that live rooms have before their node goes.' }),
        })
        .optional()
        .meta({ description: 'Draining.' }),
      monitoring: monitoring.optional(),
      networkPolicy: networkPolicy.optional(),
    })
    .meta({ description: 'The media nodes that are to run.' }),
  // With its default there is always a number, so that `kubectl scale` has one to change.
  { rule: '!has(self.autoscaling) || self.replicas == 1', message: 'set replicas or autoscaling, not both', fieldPath: '.replicas' },
  { rule: '!(has(self.ingress) && has(self.gateway))', message: 'takes ingress or gateway, not both', fieldPath: '.gateway' },
  {
    rule: 'self.replicas <= self.maxReplicas',
    message: 'must not be above maxReplicas, for which paths and indexes are made',
    fieldPath: '.replicas',
  },
  {
    rule: '!has(self.autoscaling) || self.autoscaling.maxReplicas <= self.maxReplicas',
    message: 'must not be above spec.maxReplicas, for which paths and indexes are made',
    fieldPath: '.autoscaling.maxReplicas',
  },
  {
    rule: '!has(self.media) || !has(self.media.ports) || self.media.ports.from > self.media.ports.to || self.media.ports.to - self.media.ports.from + 1 >= self.workersPerNode + (has(self.turn) && self.turn.enabled ? (has(self.turn.tlsSecretName) ? 2 : 1) : 0) + (has(self.sip) ? self.sip.calls + self.sip.components : 0)',
    message:
      'must have a port for each of workersPerNode, and one for TURN and one for TURN over TLS where they are enabled, and those of sip',
    fieldPath: '.media.ports',
  },
  {
    rule: "!has(self.config) || !has(self.config.componentsUsed) || !('sip' in self.config.componentsUsed) || has(self.sip)",
    message: 'needs sip, the ports of phone calls, for components of type sip',
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
    address: z.string().optional().meta({ description: 'Address of media.' }),
    state: z.string().meta({ description: 'Pending, Ready, Draining, Terminating or Lost.' }),
    rooms: integer(0, 1_000_000).optional().meta({ description: 'Rooms that it has.' }),
    forwardedTracks: integer(0, 100_000_000).optional().meta({ description: 'Tracks that it forwards.' }),
    message: z.string().optional().meta({ description: 'Why it is in this state.' }),
  })
  .meta({ description: 'A node.' });

export const mediaClusterStatusSchema = z
  .object({
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
    replicas: integer(0, 1_000).optional().meta({ description: 'Pods that exist.' }),
    readyReplicas: integer(0, 1_000).optional().meta({ description: 'Pods that are ready.' }),
    desiredReplicas: integer(0, 1_000).optional().meta({ description: 'Pods that there should be.' }),
    selector: z.string().optional().meta({ description: 'Label selector of the pods, for the scale subresource.' }),
    rooms: integer(0, 10_000_000).optional().meta({ description: 'Rooms on all nodes.' }),
    forwardedTracks: integer(0, 1_000_000_000).optional().meta({ description: 'Forwarded tracks on all nodes.' }),
    keyGeneration: integer(0, 1_000_000).optional().meta({ description: 'The rotation of keys that is through.' }),
    adminTokenSecret: z.string().optional().meta({ description: 'Secret that holds the API tokens.' }),
    url: z.string().optional().meta({ description: 'Address of the API for clients.' }),
    nodes: listMap('name', z.array(node)).optional().meta({ description: 'The nodes.' }),
  })
  .meta({ description: 'The nodes as they are.' });
export type MediaClusterStatus = z.infer<typeof mediaClusterStatusSchema>;
