// The MediaCluster resource: media nodes that find each other, and all that Kubernetes needs around them.
import { z } from 'zod';
import { clusterConfigSchema } from './cluster-config.ts';
import { conditions, foreign, integer, labels, listBy, name, withRules } from './schema.ts';

const reference = (what: string) =>
  z.object({ name: name.meta({ description: 'Name of a Secret of the same namespace.' }) }).meta({ description: what });

const quantity = z.union([z.int(), z.string()]).meta({ 'x-kubernetes-int-or-string': true });

const envVariable = z.object({
  name: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
  value: z.string().max(32_768).optional(),
  valueFrom: foreign('As in a Pod.').optional(),
});

const podTemplate = z
  .object({
    labels: labels.optional().meta({ description: 'More labels of the pods.' }),
    annotations: labels.optional().meta({ description: 'More annotations of the pods.' }),
    nodeSelector: labels.optional().meta({ description: 'As in a Pod.' }),
    affinity: foreign('As in a Pod.').optional(),
    tolerations: z.array(foreign('As in a Pod.')).max(64).optional().meta({ description: 'As in a Pod.' }),
    topologySpreadConstraints: z.array(foreign('As in a Pod.')).max(16).optional().meta({ description: 'As in a Pod.' }),
    priorityClassName: z.string().max(253).optional().meta({ description: 'As in a Pod.' }),
    runtimeClassName: z.string().max(253).optional().meta({ description: 'As in a Pod.' }),
    extraEnv: listBy('name', z.array(envVariable).max(128)).optional().meta({
      description: 'More environment of the node, e.g. SVC_ variables that no field here has. A change is a rollout.',
    }),
    volumes: z.array(foreign('As in a Pod.')).max(64).optional().meta({ description: 'More volumes.' }),
    volumeMounts: z.array(foreign('As in a container.')).max(64).optional().meta({ description: 'More mounts of the node container.' }),
  })
  .meta({ description: 'Laid over the pods that the operator makes. A change is a rollout.' });

const media = withRules(
  z.object({
    exposure: z
      .enum(['nodePort', 'loadBalancer', 'hostPort', 'hostNetwork', 'podIP'])
      .default('nodePort')
      .meta({ description: 'How media reaches a pod from outside.' }),
    ports: withRules(
      z.object({
        from: integer(1, 65_535).meta({ description: 'First port.' }),
        to: integer(1, 65_535).meta({ description: 'Last port.' }),
      }),
      { rule: 'self.from <= self.to', message: 'media.ports.from must not be above media.ports.to' },
    )
      .optional()
      .meta({
        description: 'Ports that pods may take blocks of; with nodePort a part of the node port range of the API server (30000-32767).',
      }),
    announcedAddress: z.string().min(1).max(1024).optional().meta({
      description:
        'Address that clients get: nodeExternalIP, nodeInternalIP, podIP, or addresses as they are, separated by spaces. Where left out: the external address of the host, else its internal one; of podIP the address of the pod; of loadBalancer its own.',
    }),
    loadBalancer: z
      .object({
        className: z.string().max(253).optional().meta({ description: 'loadBalancerClass of the Services.' }),
        annotations: labels.optional().meta({ description: 'Annotations of the Services.' }),
      })
      .optional()
      .meta({ description: 'For the exposure loadBalancer.' }),
  }),
  {
    rule: "!has(self.ports) || self.exposure != 'nodePort' || (self.ports.from >= 1024)",
    message: 'media.ports of the exposure nodePort must be unprivileged ports',
  },
).meta({ description: 'How media is exposed. A change is a rollout.' });

export const mediaClusterSpecSchema = withRules(
  z
    .object({
      replicas: integer(0, 100).optional().meta({ description: 'Number of nodes; 1 where neither this nor autoscaling is set.' }),
      autoscaling: withRules(
        z.object({
          minReplicas: integer(1, 100).default(1).meta({ description: 'Least number of nodes.' }),
          maxReplicas: integer(1, 100).meta({ description: 'Most nodes.' }),
          targetForwardedTracks: integer(1, 1_000_000)
            .default(500)
            .meta({ description: 'Forwarded tracks that a node should have on average.' }),
          scaleDownStabilizationSeconds: integer(0, 86_400)
            .default(300)
            .meta({ description: 'Seconds for which fewer nodes must be enough before one is removed.' }),
        }),
        { rule: 'self.minReplicas <= self.maxReplicas', message: 'autoscaling.minReplicas must not be above autoscaling.maxReplicas' },
      )
        .optional()
        .meta({
          description: 'The operator chooses the number of nodes.',
        }),
      maxReplicas: integer(1, 100)
        .default(10)
        .meta({ description: 'Bound of the indexes of pods, for which paths of the Ingress are made.' }),
      image: z
        .string()
        .min(1)
        .max(1024)
        .optional()
        .meta({ description: "Image of the media node; that of the operator's version where left out. A change is a rollout." }),
      imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional().meta({ description: 'As in a Pod.' }),
      imagePullSecrets: z.array(z.object({ name })).max(16).optional().meta({ description: 'As in a Pod.' }),
      resources: z
        .object({
          requests: z.record(z.string(), quantity).optional(),
          limits: z.record(z.string(), quantity).optional(),
        })
        .optional()
        .meta({ description: 'Resources of the node container.' }),
      workersPerNode: integer(1, 64)
        .default(1)
        .meta({ description: 'Media workers of a node; each takes one port (UDP and TCP) and up to one core.' }),
      podTemplate: podTemplate.optional(),
      media: media.optional(),
      ingress: z
        .object({
          host: z.string().min(1).max(253).meta({ description: 'Host name of the API, the console and the sockets.' }),
          className: z.string().max(253).optional().meta({ description: 'ingressClassName.' }),
          tls: z
            .object({ secretName: name.meta({ description: 'Secret with the certificate.' }) })
            .optional()
            .meta({ description: 'TLS; clients then get https and wss.' }),
          annotations: labels.optional().meta({ description: 'Annotations of the Ingress.' }),
          port: integer(1, 65_535).optional().meta({ description: 'Port where clients reach the Ingress, if not 443 or 80.' }),
        })
        .optional()
        .meta({ description: 'An Ingress: one path for the API and one for each node.' }),
      config: clusterConfigSchema.optional(),
      secrets: z
        .object({
          apiTokens: reference(
            'Secret whose values are API tokens, each key its name; made with a key `operator` and one `admin` where it does not exist.',
          ).optional(),
          secretKeys: reference(
            'Secret with the keys of tokens: `current`, and `previous` while they rotate; made where it does not exist.',
          ).optional(),
          cookie: reference('Secret with the `cookie` of the cluster; made where it does not exist.').optional(),
          s3: reference('Secret with `accessKeyId` and `secretAccessKey` of config.s3.').optional(),
          webhooks: reference('Secret whose values are keys of webhook signatures (`whsec_`...).').optional(),
        })
        .optional()
        .meta({ description: 'Secrets of the cluster, of the same namespace.' }),
      keyRotation: z
        .object({
          generation: integer(0, 1_000_000).meta({ description: 'Raise it by one to rotate the keys of tokens now.' }),
        })
        .optional()
        .meta({ description: 'Rotation of the made keys of tokens, in two steps, without restart.' }),
      storage: withRules(
        z.object({
          emptyDir: z.object({ sizeLimit: quantity.optional() }).optional().meta({ description: 'Lost with the pod.' }),
          persistentVolumeClaim: z
            .object({
              storageClassName: z.string().max(253).optional(),
              accessModes: z
                .array(z.enum(['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany']))
                .max(3)
                .optional(),
              size: quantity,
            })
            .optional()
            .meta({ description: 'A claim for each index, kept over restarts.' }),
        }),
        {
          rule: '!(has(self.emptyDir) && has(self.persistentVolumeClaim))',
          message: 'storage takes emptyDir or persistentVolumeClaim, not both',
        },
      )
        .optional()
        .meta({
          description: 'Where recordings, streams and undelivered events are; an emptyDir where left out.',
        }),
      turn: z
        .object({
          enabled: z.boolean().default(false).meta({ description: 'Run TURN beside every node.' }),
          tlsSecretName: name.optional().meta({ description: 'Secret with the certificate of TURN over TLS.' }),
        })
        .optional()
        .meta({ description: 'TURN.' }),
      drain: z
        .object({
          timeoutSeconds: integer(0, 604_800).default(3600).meta({ description: 'Seconds that live rooms have before their node goes.' }),
        })
        .optional()
        .meta({ description: 'Draining.' }),
      monitoring: z
        .object({
          serviceMonitor: z
            .object({
              labels: labels.optional().meta({ description: 'Labels of the ServiceMonitor.' }),
              interval: z
                .string()
                .regex(/^[0-9]+(ms|s|m|h)$/)
                .optional()
                .meta({ description: 'How often Prometheus scrapes, e.g. 30s.' }),
            })
            .optional()
            .meta({ description: 'A ServiceMonitor, where that kind exists.' }),
        })
        .optional()
        .meta({ description: 'Monitoring.' }),
      networkPolicy: z
        .object({
          enabled: z.boolean().default(true).meta({ description: 'Make a NetworkPolicy.' }),
          monitoringFrom: z
            .array(foreign('As `from` in a NetworkPolicy.'))
            .max(16)
            .optional()
            .meta({ description: 'Who may read metrics; the whole cluster where left out.' }),
        })
        .optional()
        .meta({ description: 'NetworkPolicy: each port and who may use it.' }),
    })
    .meta({ description: 'The media nodes that are to run.' }),
  { rule: '!(has(self.replicas) && has(self.autoscaling))', message: 'set replicas or autoscaling, not both' },
  {
    rule: '!has(self.replicas) || self.replicas <= self.maxReplicas',
    message: 'replicas must not be above maxReplicas, for which paths and indexes are made',
  },
  {
    rule: '!has(self.autoscaling) || self.autoscaling.maxReplicas <= self.maxReplicas',
    message: 'autoscaling.maxReplicas must not be above maxReplicas, for which paths and indexes are made',
  },
);
export type MediaClusterSpec = z.infer<typeof mediaClusterSpecSchema>;

export const mediaClusterStatusSchema = z
  .object({
    observedGeneration: integer(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: 'The generation that this status is of.' }),
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
    nodes: listBy(
      'name',
      z.array(
        z.object({
          name: z.string().meta({ description: 'Name of the pod.' }),
          node: z.string().optional().meta({ description: 'Name in the cluster of media nodes.' }),
          address: z.string().optional().meta({ description: 'Address of media.' }),
          state: z.string().meta({ description: 'Pending, Ready, Draining, Terminating or Lost.' }),
          rooms: integer(0, 1_000_000).optional(),
          forwardedTracks: integer(0, 100_000_000).optional(),
          message: z.string().optional(),
        }),
      ),
    )
      .optional()
      .meta({ description: 'The nodes.' }),
  })
  .meta({ description: 'The nodes as they are.' });
export type MediaClusterStatus = z.infer<typeof mediaClusterStatusSchema>;
