// Pod part of a MediaCluster: pod template, exposure of media and storage.
import { z } from 'zod';
import {
  annotations,
  embeddedKubernetesType,
  integer,
  labels,
  limitedText,
  listMap,
  name,
  quantity,
  reservedRule,
  withRules,
} from './schema.ts';

/** Variables of a node that neither the operator nor another field of a MediaCluster sets. */
export const allowedExtraEnv = [
  'SVC_CHECK_ORIGIN',
  'SVC_TRACES_ENDPOINT',
  'SVC_TRACES_SAMPLE_PERCENT',
  'SVC_TRUST_PROXY',
  'SVC_STRUCTURED_LOGGING',
  'SVC_WEBRTC_TURN_LISTEN_IP',
  'SVC_DIST_TICK',
  'SVC_DIST_ERLANG',
  'SVC_DIST_TLS',
  'SVC_DIST_TLS_CA',
  'SVC_DIST_TLS_CERT',
  'SVC_DIST_TLS_KEY',
  'SVC_DIST_POLLING_INTERVAL',
  'SVC_SIP_IP',
] as const;

/** A list of strings in CEL. */
const listed = (texts: readonly string[]) => `[${texts.map((each) => `'${each}'`).join(', ')}]`;

const variable = withRules(
  z
    .object({
      name: limitedText(256, /^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable: letters, digits and _').meta({
        description: 'Its name.',
      }),
      value: z.string().max(32_768).optional().meta({ description: 'Its value.' }),
      valueFrom: embeddedKubernetesType('Source of its value, as valueFrom of a container.').optional(),
    })
    .meta({ description: 'A variable.' }),
  { rule: '!(has(self.value) && has(self.valueFrom))', message: 'accepts value or valueFrom, not both' },
  {
    rule: `self.name != 'POD_IP' && !self.name.startsWith('LEGACY_') && (!self.name.startsWith('SVC_') || self.name in ${listed(allowedExtraEnv)})`,
    message: `only these node variables may be set here: ${allowedExtraEnv.join(', ')}; the operator or another field of this resource sets the others`,
  },
);

/** Volumes that every pod has, by name. */
const reservedVolumes = ['tmp', 'resources', 'config', 'secrets', 'pod', 'turn', 'dist-tls'] as const;
const reservedPaths = ['/tmp', '/var/lib/mediarooms'] as const;

const volumeName = limitedText(63, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be lower case letters, digits and '-'");
const newVolume = withRules(volumeName, {
  rule: `!(self in ${listed(reservedVolumes)})`,
  message: 'is the name of a volume that every pod already has',
});
const newPath = withRules(limitedText(4096, /^\/[^:]*$/, "must be an absolute path without ':'"), {
  rule: `!(self in ${listed(reservedPaths)}) && !self.startsWith('/etc/mediarooms')`,
  message: 'is a path at which every pod already has a volume',
});
const kept = { 'x-kubernetes-preserve-unknown-fields': true };

export const podTemplate = withRules(
  z.object({
    labels: withRules(labels, reservedRule).optional().meta({ description: 'Additional labels of the pods.' }),
    annotations: withRules(annotations, reservedRule).optional().meta({ description: 'Additional annotations of the pods.' }),
    nodeSelector: labels.optional().meta({ description: 'Labels that a Kubernetes node must have, as nodeSelector of a Pod.' }),
    affinity: embeddedKubernetesType('Node and pod affinity, as affinity of a Pod.').optional(),
    tolerations: z
      .array(embeddedKubernetesType('As a toleration of a Pod.'))
      .max(64)
      .optional()
      .meta({ description: 'Tolerated taints, as tolerations of a Pod.' }),
    topologySpreadConstraints: z
      .array(embeddedKubernetesType('As a topology spread constraint of a Pod.'))
      .max(16)
      .optional()
      .meta({ description: 'Distribution of the pods over Kubernetes nodes and zones, as topologySpreadConstraints of a Pod.' }),
    priorityClassName: name.optional().meta({ description: 'PriorityClass of the pods.' }),
    runtimeClassName: name.optional().meta({ description: 'RuntimeClass of the pods.' }),
    fixedUser: z.boolean().optional().meta({
      description:
        'Whether pods run as user and group 10001. Set it to false if the platform assigns users and groups to namespaces, as OpenShift does; true if omitted.',
    }),
    extraEnv: listMap('name', z.array(variable).max(128)).optional().meta({
      description: 'Additional variables of the node container, including SVC_ variables that have no field here.',
    }),
    volumes: listMap(
      'name',
      z
        .array(
          z.looseObject({ name: newVolume.meta({ description: 'Its name.' }) }).meta({ description: 'A volume, as in a Pod.', ...kept }),
        )
        .max(64),
    )
      .optional()
      .meta({ description: 'Additional volumes of the pods.' }),
    volumeMounts: z
      .array(
        z
          .looseObject({
            name: volumeName.meta({ description: 'Name of the volume.' }),
            mountPath: newPath.meta({ description: 'Path in the container.' }),
          })
          .meta({ description: 'A volume mount, as in a container.', ...kept }),
      )
      .max(64)
      .optional()
      .meta({ description: 'Additional mounts of the node container.' }),
  }),
  {
    rule: `!has(self.volumeMounts) || self.volumeMounts.all(mount, mount.name in ${listed(reservedVolumes)} || (has(self.volumes) && self.volumes.exists(volume, volume.name == mount.name)))`,
    message: 'volumeMounts must name volumes of podTemplate.volumes',
  },
).meta({ description: 'Merged into the pods that the operator creates. A change causes a rollout.' });

const loadBalancerClass = limitedText(
  317,
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
  'must be the class of a load balancer: an optional prefix (a host name and /), then at most 63 letters, digits, -, _ and .',
);

const exposures = ['nodePort', 'loadBalancer', 'hostPort', 'hostNetwork', 'podIP'] as const;

export const media = withRules(
  z.object({
    exposure: z.enum(exposures).default('nodePort').meta({
      description:
        'How media reaches a pod from outside: a node port of a Service per pod, a load balancer per pod, host ports, the host network, or the pod IP.',
    }),
    ports: withRules(
      z.object({
        from: integer(1, 65_535).meta({ description: 'First port.' }),
        to: integer(1, 65_535).meta({ description: 'Last port.' }),
      }),
      { rule: 'self.from <= self.to', message: 'from must not be above to' },
    )
      .optional()
      .meta({
        description:
          'Range from which pods get blocks of ports; with nodePort a part of the node port range of the API server (30000-32767).',
      }),
    announcedAddress: limitedText(
      1024,
      /^[A-Za-z0-9._:-]+( [A-Za-z0-9._:-]+)*$/,
      'must be nodeExternalIP, nodeInternalIP, podIP, or IP addresses and host names separated by one space',
    )
      .optional()
      .meta({
        description:
          'Address that clients get: nodeExternalIP, nodeInternalIP, podIP, or literal addresses separated by spaces. If omitted: the external address of the Kubernetes node, else its internal address; with podIP the address of the pod; with loadBalancer the address of the load balancer.',
      }),
    loadBalancer: z
      .object({
        className: loadBalancerClass
          .optional()
          .meta({ description: 'loadBalancerClass of the Services, for example service.k8s.aws/nlb.' }),
        annotations: annotations.optional().meta({ description: 'Annotations of the Services.' }),
        udpOnly: z.boolean().optional().meta({
          description:
            'Expose UDP only, for load balancers that cannot serve UDP and TCP at one port. Clients whose networks block UDP then need another TURN server.',
        }),
      })
      .optional()
      .meta({ description: 'Settings of the exposure loadBalancer.' }),
  }),
  {
    rule: '!has(self.ports) || self.ports.from >= 1024',
    message: 'must be ports from 1024 up, because nodes do not run as root',
    fieldPath: '.ports.from',
  },
  {
    rule: "!has(self.loadBalancer) || self.exposure == 'loadBalancer'",
    message: 'is valid for the exposure loadBalancer only',
    fieldPath: '.loadBalancer',
  },
).meta({ description: 'How media is exposed. A change causes a rollout.' });

const claim = z
  .object({
    storageClassName: name.optional().meta({ description: 'StorageClass; the default one if omitted.' }),
    accessModes: z
      .array(z.enum(['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany']))
      .min(1)
      .max(3)
      .optional()
      .meta({ description: 'Access modes; ReadWriteOnce if omitted.', 'x-kubernetes-list-type': 'set' }),
    size: withRules(quantity, {
      rule: 'quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0',
      message: 'cannot shrink, because claims can only grow',
    }).meta({ description: 'Its size, for example 20Gi.' }),
  })
  .meta({ description: 'A claim for each pod index, kept over restarts.' });

export const storage = withRules(
  z.object({
    emptyDir: z
      .object({ sizeLimit: quantity.optional().meta({ description: 'Maximum size, for example 20Gi.' }) })
      .optional()
      .meta({ description: 'Lost with the pod.' }),
    persistentVolumeClaim: claim.optional(),
  }),
  {
    rule: '!(has(self.emptyDir) && has(self.persistentVolumeClaim))',
    message: 'accepts emptyDir or persistentVolumeClaim, not both',
  },
).meta({ description: 'Storage of recordings, streams and undelivered events; an emptyDir if omitted. A change causes a rollout.' });
