// What a MediaCluster says about its pods: what is laid over them, how media reaches them, what they keep.
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

/** Of the variables of a node those that neither the operator nor another field of a MediaCluster sets. */
export const allowedExtraEnv = [
  'SVC_CHECK_ORIGIN',
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

/** A list of texts in CEL. */
const listed = (texts: readonly string[]) => `[${texts.map((each) => `'${each}'`).join(', ')}]`;

const variable = withRules(
  z
    .object({
      name: limitedText(256, /^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable: letters, digits and _').meta({
        description: 'Its name.',
      }),
      value: z.string().max(32_768).optional().meta({ description: 'Its value.' }),
      valueFrom: embeddedKubernetesType('Where its value comes from, as valueFrom of a container.').optional(),
    })
    .meta({ description: 'A variable.' }),
  { rule: '!(has(self.value) && has(self.valueFrom))', message: 'takes value or valueFrom, not both' },
  {
    rule: `self.name != 'POD_IP' && !self.name.startsWith('LEGACY_') && (!self.name.startsWith('SVC_') || self.name in ${listed(allowedExtraEnv)})`,
    message: `of the variables of a node only these may be set here: ${allowedExtraEnv.join(', ')}; the operator, or another field of this resource, sets the others`,
  },
);

/** What pods have anyway, by the name of the volume. */
export const reservedVolumes = ['tmp', 'resources', 'config', 'secrets', 'pod', 'turn', 'dist-tls'] as const;
export const reservedPaths = ['/tmp', '/var/lib/mediarooms'] as const;

const volumeName = limitedText(63, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be lower case letters, digits and '-'");
const newVolume = withRules(volumeName, {
  rule: `!(self in ${listed(reservedVolumes)})`,
  message: 'is the name of a volume that the pods have anyway',
});
const newPath = withRules(limitedText(4096, /^\/[^:]*$/, "must be an absolute path without ':'"), {
  rule: `!(self in ${listed(reservedPaths)}) && !self.startsWith('/etc/mediarooms')`,
  message: 'is where the pods have a volume anyway',
});
const kept = { 'x-kubernetes-preserve-unknown-fields': true };

export const podTemplate = withRules(
  z.object({
    labels: withRules(labels, reservedRule).optional().meta({ description: 'More labels of the pods.' }),
    annotations: withRules(annotations, reservedRule).optional().meta({ description: 'More annotations of the pods.' }),
    nodeSelector: labels.optional().meta({ description: 'Labels that a host must have, as nodeSelector of a Pod.' }),
    affinity: embeddedKubernetesType('Which hosts and neighbours the pods want, as affinity of a Pod.').optional(),
    tolerations: z
      .array(embeddedKubernetesType('As a toleration of a Pod.'))
      .max(64)
      .optional()
      .meta({ description: 'Taints that the pods bear, as tolerations of a Pod.' }),
    topologySpreadConstraints: z
      .array(embeddedKubernetesType('As one of a Pod.'))
      .max(16)
      .optional()
      .meta({ description: 'How the pods are spread over hosts and zones, as topologySpreadConstraints of a Pod.' }),
    priorityClassName: name.optional().meta({ description: 'PriorityClass of the pods.' }),
    runtimeClassName: name.optional().meta({ description: 'RuntimeClass of the pods.' }),
    extraEnv: listMap('name', z.array(variable).max(128)).optional().meta({
      description: 'More variables of the node container, SVC_ variables that no field here has among them.',
    }),
    volumes: listMap(
      'name',
      z
        .array(
          z
            .looseObject({ name: newVolume.meta({ description: 'Its name.' }) })
            .meta({ description: 'A volume, as one of a Pod.', ...kept }),
        )
        .max(64),
    )
      .optional()
      .meta({ description: 'More volumes of the pods.' }),
    volumeMounts: z
      .array(
        z
          .looseObject({
            name: volumeName.meta({ description: 'Name of the volume.' }),
            mountPath: newPath.meta({ description: 'Where it is put.' }),
          })
          .meta({ description: 'A mount, as one of a container.', ...kept }),
      )
      .max(64)
      .optional()
      .meta({ description: 'More mounts of the node container.' }),
  }),
  {
    rule: `!has(self.volumeMounts) || self.volumeMounts.all(mount, mount.name in ${listed(reservedVolumes)} || (has(self.volumes) && self.volumes.exists(volume, volume.name == mount.name)))`,
    message: 'volumeMounts must name volumes that podTemplate.volumes has',
  },
).meta({ description: 'Laid over the pods that the operator makes. A change is a rollout.' });

const loadBalancerClass = limitedText(
  317,
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
  'must be the class of a load balancer: an optional prefix (a host name and /), then at most 63 letters, digits, -, _ and .',
);

export const exposures = ['nodePort', 'loadBalancer', 'hostPort', 'hostNetwork', 'podIP'] as const;

export const media = withRules(
  z.object({
    exposure: z.enum(exposures).default('nodePort').meta({
      description:
        'How media reaches a pod from outside: a node port of its own Service, a load balancer of its own, ports of its host, the network of its host, or its own address.',
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
        description: 'Ports that pods may take blocks of; with nodePort a part of the node port range of the API server (30000-32767).',
      }),
    announcedAddress: limitedText(
      1024,
      /^[A-Za-z0-9._:-]+( [A-Za-z0-9._:-]+)*$/,
      'must be nodeExternalIP, nodeInternalIP, podIP, or IP addresses and host names separated by one space',
    )
      .optional()
      .meta({
        description:
          'Address that clients get: nodeExternalIP, nodeInternalIP, podIP, or addresses as they are, separated by spaces. Where left out: the external address of the host, else its internal one; of podIP the address of the pod; of loadBalancer its own.',
      }),
    loadBalancer: z
      .object({
        className: loadBalancerClass.optional().meta({ description: 'loadBalancerClass of the Services, e.g. service.k8s.aws/nlb.' }),
        annotations: annotations.optional().meta({ description: 'Annotations of the Services.' }),
      })
      .optional()
      .meta({ description: 'For the exposure loadBalancer.' }),
  }),
  {
    rule: '!has(self.ports) || self.ports.from >= 1024',
    message: 'must be ports from 1024 up: nodes are no root',
    fieldPath: '.ports.from',
  },
  {
    rule: "!has(self.loadBalancer) || self.exposure == 'loadBalancer'",
    message: 'is for the exposure loadBalancer only',
    fieldPath: '.loadBalancer',
  },
).meta({ description: 'How media is exposed. A change is a rollout.' });

const claim = z
  .object({
    storageClassName: name.optional().meta({ description: 'StorageClass; the default one where left out.' }),
    accessModes: z
      .array(z.enum(['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany']))
      .min(1)
      .max(3)
      .optional()
      .meta({ description: 'How hosts may mount it; ReadWriteOnce where left out.', 'x-kubernetes-list-type': 'set' }),
    size: withRules(quantity, {
      rule: 'quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0',
      message: 'cannot shrink: claims only grow',
    }).meta({ description: 'Its size, e.g. 20Gi.' }),
  })
  .meta({ description: 'A claim for each index, kept over restarts.' });

export const storage = withRules(
  z.object({
    emptyDir: z
      .object({ sizeLimit: quantity.optional().meta({ description: 'Most that it holds, e.g. 20Gi.' }) })
      .optional()
      .meta({ description: 'Lost with the pod.' }),
    persistentVolumeClaim: claim.optional(),
  }),
  {
    rule: '!(has(self.emptyDir) && has(self.persistentVolumeClaim))',
    message: 'takes emptyDir or persistentVolumeClaim, not both',
  },
).meta({ description: 'Where recordings, streams and undelivered events are; an emptyDir where left out. A change is a rollout.' });
