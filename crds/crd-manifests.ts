// The CustomResourceDefinitions, made from the zod schemas: what crds/*.yaml hold and what the operator applies.
import { z } from 'zod';
import manifest from '../package.json' with { type: 'json' };
import type { Rule } from './schema.ts';
import { type Json, structural, withBoundsInDescription } from './structural.ts';
import { apiGroup, mediaClusterSchema, roomSchema } from './types.ts';

/** That of the release: an operator replaces definitions of older ones at its start, never those of newer ones. */
export const crdVersion = manifest.version;
export const versionAnnotation = `${apiGroup}/definitions-version`;

type Column = { name: string; type: string; jsonPath: string; description?: string; priority?: number };
type Definition = {
  kind: string;
  plural: string;
  singular: string;
  shortNames: string[];
  description: string;
  schema: z.ZodType;
  /** Of the whole object. Only the first version of it is asked (`oldSelf.hasValue()`): the whole always differs from what is stored, so
   *  an object that breaks a younger rule could have neither its status written nor its finalizer removed. */
  rules?: Rule[];
  subresources: Json;
  columns: Column[];
  selectableFields?: { jsonPath: string }[];
};

/** Spec and status of a resource as structural schemas. */
export function specAndStatus(schema: z.ZodType): { spec: Json; status: Json } {
  const { properties } = structural(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json);
  return properties as { spec: Json; status: Json };
}

function crdManifest(of: Definition): Json {
  const { spec, status } = specAndStatus(of.schema);
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
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
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
        },
      ],
    },
  };
}

/** With a default of the whole, so that rules may speak of `self.spec`. */
function defaulted(schema: z.ZodType): z.ZodType {
  return schema.meta({ ...schema.meta(), default: schema.parse({}) });
}

const ageColumn: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

export const roomDefinition = crdManifest({
  kind: 'Room',
  plural: 'rooms',
  singular: 'room',
  shortNames: ['mroom'],
  description: 'A real-time media room on a node of a MediaCluster: peers over WebRTC, and components (hls, recording, sip, file).',
  schema: roomSchema.extend({ spec: defaulted(roomSchema.shape.spec) }),
  rules: [
    {
      rule: "oldSelf.hasValue() || has(self.spec.roomId) || !self.metadata.name.contains('.')",
      optionalOldSelf: true,
      message: 'a Room whose name has a dot needs one, since an id has none',
      fieldPath: '.spec.roomId',
      reason: 'FieldValueRequired',
    },
    {
      rule: 'oldSelf.hasValue() || has(self.spec.roomId) || size(self.metadata.name) <= 128',
      optionalOldSelf: true,
      message: 'a Room whose name is longer than 128 characters needs one, since an id is not',
      fieldPath: '.spec.roomId',
      reason: 'FieldValueRequired',
    },
  ],
  subresources: { status: {} },
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'The conditions in one word.' },
    { name: 'Node', type: 'string', jsonPath: '.status.node', description: 'The node that has the room.' },
    { name: 'Peers', type: 'integer', jsonPath: '.status.peers.connected', description: 'Connected peers.' },
    { name: 'Address', type: 'string', jsonPath: '.status.address', description: 'Address of the room for clients.' },
    ageColumn,
    { name: 'RoomId', type: 'string', jsonPath: '.status.roomId', priority: 1 },
    {
      name: 'Components',
      type: 'string',
      jsonPath: '.status.componentsReady',
      priority: 1,
      description: 'Components that are ready, of those declared.',
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
  description: 'Media nodes that find each other, and everything that Kubernetes needs around them.',
  schema: mediaClusterSchema.extend({ spec: defaulted(mediaClusterSchema.shape.spec) }),
  rules: [
    {
      rule: "oldSelf.hasValue() || (size(self.metadata.name) <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",
      optionalOldSelf: true,
      message:
        'the name of a MediaCluster has at most 40 characters, begins with a letter and has no dot: its pods and Services are named after it',
      fieldPath: '.metadata',
    },
  ],
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector' },
  },
  columns: [
    { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas', description: 'Pods that are ready.' },
    { name: 'Desired', type: 'integer', jsonPath: '.status.desiredReplicas', description: 'Pods that there should be.' },
    { name: 'Rooms', type: 'integer', jsonPath: '.status.rooms', description: 'Rooms on all nodes.' },
    { name: 'Available', type: 'string', jsonPath: ".status.conditions[?(@.type=='Available')].status" },
    { name: 'Synced', type: 'string', jsonPath: ".status.conditions[?(@.type=='ConfigSynced')].status" },
    ageColumn,
    { name: 'URL', type: 'string', jsonPath: '.status.url', priority: 1 },
    { name: 'Tracks', type: 'integer', jsonPath: '.status.forwardedTracks', priority: 1 },
  ],
});

export const definitions = { 'room.yaml': roomDefinition, 'mediacluster.yaml': mediaClusterDefinition };
