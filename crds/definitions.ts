// The CustomResourceDefinitions, made from the zod schemas: what crds/*.yaml hold and what the operator applies.
import { z } from 'zod';
import { apiGroup, mediaClusterSchema, roomSchema } from './types.ts';

/** Raised with every change of a schema: the operator replaces older definitions at its start, never newer ones. */
export const definitionsVersion = 1;
export const versionAnnotation = `${apiGroup}/definitions-version`;

type Json = { [name: string]: unknown };

/**
 * A JSON Schema as a structural schema of Kubernetes: no $schema, no additionalProperties beside properties, `nullable` for
 * a union with null, bounds of integers that fit into the number formats of Go.
 */
export function structural(schema: Json): Json {
  const { $schema: _, additionalProperties, anyOf, ...rest } = schema;
  const preserved = rest['x-kubernetes-preserve-unknown-fields'] === true;
  if (rest['x-kubernetes-int-or-string'] === true) return rest;
  const options = Array.isArray(anyOf) ? (anyOf as Json[]) : [];
  const other = options.filter((option) => option.type !== 'null');
  if (options.length > 0) {
    if (other.length !== 1 || !other[0]) throw new Error('a structural schema has no unions but that with null');
    return { ...structural(other[0]), ...rest, nullable: true };
  }
  const made: Json = { ...rest };
  delete made.propertyNames;
  if (rest.type === 'integer') made.format = 'int64';
  if (rest.properties) {
    made.properties = Object.fromEntries(
      Object.entries(rest.properties as Record<string, Json>).map(([key, each]) => [key, structural(each)]),
    );
  } else if (rest.type === 'object' && !preserved && typeof additionalProperties === 'object') {
    made.additionalProperties = structural(additionalProperties as Json);
  }
  if (rest.items) made.items = structural(rest.items as Json);
  return made;
}

type Column = { name: string; type: string; jsonPath: string; description?: string; priority?: number };
type Definition = {
  kind: string;
  plural: string;
  singular: string;
  shortNames: string[];
  description: string;
  schema: z.ZodType;
  rules?: Json[];
  subresources: Json;
  columns: Column[];
  selectableFields?: { jsonPath: string }[];
};

function definition(of: Definition): Json {
  const body = structural(z.toJSONSchema(of.schema, { io: 'input', unrepresentable: 'any' }) as Json);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${of.plural}.${apiGroup}`, annotations: { [versionAnnotation]: String(definitionsVersion) } },
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
                ...(body.properties as Json),
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
  return schema.meta({ ...schema.meta(), default: {} });
}

const ageColumn: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

export const roomDefinition = definition({
  kind: 'Room',
  plural: 'rooms',
  singular: 'room',
  shortNames: ['mroom'],
  description: 'A real-time media room on a node of a MediaCluster: peers over WebRTC, and components (hls, recording, sip, file).',
  schema: roomSchema.extend({ spec: defaulted(roomSchema.shape.spec) }),
  rules: [
    {
      rule: "has(self.spec.roomId) || !self.metadata.name.contains('.')",
      message: 'a Room whose name has a dot needs an explicit spec.roomId',
    },
    {
      rule: 'has(self.spec.roomId) || size(self.metadata.name) <= 128',
      message: 'a Room whose name is longer than 128 characters needs an explicit spec.roomId',
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
    { name: 'Components', type: 'string', jsonPath: '.status.components[*].name', priority: 1 },
    { name: 'Reason', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].reason", priority: 1 },
  ],
  selectableFields: [{ jsonPath: '.spec.roomId' }],
});

export const mediaClusterDefinition = definition({
  kind: 'MediaCluster',
  plural: 'mediaclusters',
  singular: 'mediacluster',
  shortNames: ['mcl'],
  description: 'Media nodes that find each other, and everything that Kubernetes needs around them.',
  schema: mediaClusterSchema.extend({ spec: defaulted(mediaClusterSchema.shape.spec) }),
  rules: [
    {
      rule: "size(self.metadata.name) <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
      message:
        'the name of a MediaCluster has at most 40 characters, begins with a letter and has no dot: its pods and Services are named after it',
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
