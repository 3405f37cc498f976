// Component types: the options of each, and its rules. Requests, OpenAPI, CRD, operator and counts are derived from this table.
import { z } from 'zod';
import { externalIdSchema } from '../id.ts';
import { fileOptionsSchema, fileRules } from './file.ts';
import { hlsOptionsSchema, hlsRules } from './hls.ts';
import type { OptionRule } from './option.ts';
import { recordingOptionsSchema, recordingRules } from './recording.ts';
import { sipOptionsSchema } from './sip.ts';

export type TypeDefinition = {
  options: z.ZodObject;
  /** Rules of a Room beyond those that follow from the options. */
  rules?: readonly OptionRule[];
  /** A room has at most one. */
  oncePerRoom?: true;
};

const componentTypes = {
  hls: { options: hlsOptionsSchema, rules: hlsRules, oncePerRoom: true },
  recording: { options: recordingOptionsSchema, rules: recordingRules, oncePerRoom: true },
  sip: { options: sipOptionsSchema },
  file: { options: fileOptionsSchema, rules: fileRules },
} as const satisfies Record<string, TypeDefinition>;

export type ComponentType = keyof typeof componentTypes;
export const componentTypeNames = Object.keys(componentTypes) as ComponentType[];
export const isComponentType = (type: unknown): type is ComponentType => typeof type === 'string' && Object.hasOwn(componentTypes, type);
export const definitionOf = (type: ComponentType): TypeDefinition => componentTypes[type];

export const componentTypeSchema = z.enum(componentTypeNames).meta({ id: 'ComponentType' });

const variants = componentTypeNames.map((type) => {
  const { options } = definitionOf(type);
  const mayBeOmitted = options.safeParse({}).success;
  return z.strictObject({
    type: z.literal(type),
    options: mayBeOmitted ? options.optional() : options,
    externalId: externalIdSchema.optional(),
  });
});
/** Documented request body for adding a component. Each component type parses its options itself, so that error messages are specific. */
export const documentedComponentOptions = z
  .discriminatedUnion('type', variants as [(typeof variants)[number]])
  .meta({ id: 'ComponentOptions', description: 'A new component: its type and the options of that type.' });
