// CustomResourceDefinitions, generated from the zod schemas: written to crds/*.yaml and applied by the operator.
import type { z } from 'zod';
import { componentTypeNames } from '../api/component/types.ts';
import type { Rule } from '../api/core/kube.ts';
import manifest from '../package.json' with { type: 'json' };
import { unobserved } from './schema.ts';
import { type Json, kubernetesJson, structural, withBoundsInDescription } from './structural.ts';
import { apiGroup, apiVersions, mediaClusterSchema, roomSchema, v1alpha1RoomSchema } from './types.ts';

/** Version of the release. At startup an operator upgrades CRDs of older versions, never of newer ones. */
export const crdVersion = manifest.version;
export const versionAnnotation = `${apiGroup}/definitions-version`;

type Column = { name: string; type: string; jsonPath: string; description?: string; priority?: number };
type Spec = z.ZodObject<{ spec: z.ZodType; status: z.ZodType }>;
type Definition = {
  kind: keyof typeof apiVersions;
  plural: string;
  singular: string;
  shortNames: string[];
  description: string;
  schema: Spec;
  /** An earlier version that is still served. The API server changes only apiVersion, so its schema has all fields of the current one. */
  earlier?: { name: string; schema: Spec; warning: string };
  /**
   * Rules of the whole object, checked on creation only (`oldSelf.hasValue()`). They are not ratcheted: an object that breaks a newer rule
   * could have neither its status written nor its finalizer removed.
   */
  rules?: Rule[];
  subresources: Json;
  columns: Column[];
  selectableFields?: { jsonPath: string }[];
};

/** Spec and status of a resource as structural schemas. */
export function specAndStatus(schema: z.ZodType): { spec: Json; status: Json } {
  const { properties } = structural(kubernetesJson(schema));
  return properties as { spec: Json; status: Json };
}

function crdManifest(of: Definition): Json {
  const { earlier } = of;
  const name = apiVersions[of.kind].replace(`${apiGroup}/`, '');
  const current = { name, served: true, storage: true, ...versionFields(of, of.schema) };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${of.plural}.${apiGroup}`, annotations: { [versionAnnotation]: crdVersion } },
    spec: {
      group: apiGroup,
      scope: 'Namespaced',
      names: {
        kind: of.kind,
        listKind: `${of.kind}List`,
        plural: of.plural,
        singular: of.singular,
        shortNames: of.shortNames,
        categories: ['media'],
      },
      versions: [
        current,
        ...(earlier
          ? [
              {
                ...{ name: earlier.name, served: true, storage: false, deprecated: true, deprecationWarning: earlier.warning },
                ...versionFields({ ...of, ...apart(of) }, earlier.schema),
              },
            ]
          : []),
      ],
    },
  };
}

/** The API server rejects versions with equal selectable fields and different schemas; their order does not matter. */
function apart({ selectableFields }: Definition): Pick<Definition, 'selectableFields'> {
  return selectableFields ? { selectableFields: selectableFields.toReversed() } : {};
}

function versionFields(of: Definition, schema: Spec): Json {
  const { spec, status } = specAndStatus(schema.extend({ spec: defaulted(schema.shape.spec) }));
  status.default = unobserved;
  return {
    schema: {
      openAPIV3Schema: {
        description: of.description,
        type: 'object',
        properties: {
          apiVersion: { type: 'string' },
          kind: { type: 'string' },
          metadata: { type: 'object' },
          spec: withBoundsInDescription(spec),
          status,
        },
        ...(of.rules ? { 'x-kubernetes-validations': of.rules } : {}),
      },
    },
    subresources: of.subresources,
    additionalPrinterColumns: of.columns,
    ...(of.selectableFields ? { selectableFields: of.selectableFields } : {}),
  };
}

/** Adds a default for the whole object, so that rules can refer to `self.spec`. */
function defaulted(schema: z.ZodType): z.ZodType {
  return schema.meta({ ...schema.meta(), default: schema.parse({}) });
}

const ageColumn: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

export const roomDefinition = crdManifest({
  kind: 'Room',
  plural: 'rooms',
  singular: 'room',
  shortNames: ['mroom'],
  description: `A real-time media room on a node of a MediaCluster: peers over WebRTC, and components (${componentTypeNames.join(', ')}).`,
  schema: roomSchema,
  earlier: {
    name: 'v1alpha1',
    schema: v1alpha1RoomSchema,
    warning:
      'mediarooms.dev/v1alpha1 Room is deprecated. In mediarooms.dev/v1alpha2 a component is written as {name: stream, hls: {layout: grid}} instead of {name: stream, type: hls, options: {layout: grid}}.',
  },
  rules: [
    {
      rule: "oldSelf.hasValue() || has(self.spec.roomId) || !self.metadata.name.contains('.')",
      optionalOldSelf: true,
      message: 'a Room whose name contains a dot needs a roomId, because room ids cannot contain dots',
      fieldPath: '.spec.roomId',
      reason: 'FieldValueRequired',
    },
    {
      rule: 'oldSelf.hasValue() || has(self.spec.roomId) || size(self.metadata.name) <= 128',
      optionalOldSelf: true,
      message: 'a Room whose name is longer than 128 characters needs a roomId, because room ids are shorter',
      fieldPath: '.spec.roomId',
      reason: 'FieldValueRequired',
    },
  ],
  subresources: { status: {} },
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Summary of the conditions.' },
    { name: 'Node', type: 'string', jsonPath: '.status.node', description: 'The owning node of the room.' },
    { name: 'Peers', type: 'integer', jsonPath: '.status.peers.connected', description: 'Connected peers.' },
    { name: 'Address', type: 'string', jsonPath: '.status.address', description: 'Address of the room for clients.' },
    ageColumn,
    { name: 'RoomId', type: 'string', jsonPath: '.status.roomId', priority: 1 },
    { name: 'Legs', type: 'integer', jsonPath: '.status.legs', priority: 1, description: 'Media workers that the room uses.' },
    {
      name: 'Components',
      type: 'string',
      jsonPath: '.status.componentsReady',
      priority: 1,
      description: 'Ready components of the declared ones.',
    },
    { name: 'Reason', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].reason", priority: 1 },
  ],
  selectableFields: ['.spec.roomId', '.spec.clusterRef.name', '.status.phase', '.status.node'].map((jsonPath) => ({ jsonPath })),
});

export const mediaClusterDefinition = crdManifest({
  kind: 'MediaCluster',
  plural: 'mediaclusters',
  singular: 'mediacluster',
  shortNames: ['mcl'],
  description: 'A cluster of media nodes and the Kubernetes objects that they need.',
  schema: mediaClusterSchema,
  rules: [
    {
      rule: "oldSelf.hasValue() || (size(self.metadata.name) <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",
      optionalOldSelf: true,
      message:
        'the name of a MediaCluster must have at most 40 characters, begin with a letter and contain no dot, because its pods and Services are named after it',
      fieldPath: '.metadata',
    },
  ],
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector' },
  },
  columns: [
    { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas', description: 'Pods that are ready.' },
    { name: 'Desired', type: 'integer', jsonPath: '.status.desiredReplicas', description: 'Desired number of pods.' },
    { name: 'Rooms', type: 'integer', jsonPath: '.status.rooms', description: 'Rooms on all nodes.' },
    { name: 'Available', type: 'string', jsonPath: ".status.conditions[?(@.type=='Available')].status" },
    { name: 'Synced', type: 'string', jsonPath: ".status.conditions[?(@.type=='ConfigSynced')].status" },
    ageColumn,
    { name: 'URL', type: 'string', jsonPath: '.status.url', priority: 1 },
    { name: 'Tracks', type: 'integer', jsonPath: '.status.forwardedTracks', priority: 1 },
  ],
});

export const definitions = { 'room.yaml': roomDefinition, 'mediacluster.yaml': mediaClusterDefinition };
