// Component of a Room: one member, named after its type, has the options of the type. Derived from the table of component types.
import { z } from 'zod';
import { type ComponentType, componentTypeNames, definitionOf, isComponentType } from '../api/component/types.ts';
import { rule } from '../api/core/kube.ts';
import { flatRoomOptions, type RoomOption } from '../api/derive/room-options.ts';
import { limitedText, preservedJson, roomSecretLabel, secretKeyRef, secretName, withRules } from './schema.ts';

export type ComponentOptions = Record<string, unknown>;

const labeled = `The Secret needs the label \`${roomSecretLabel}: "true"\`, unless roomSecrets of the MediaCluster is any.`;

/** What comes from Secrets is a reference. */
function inRoom({ schema, facts: { key, keys } }: RoomOption): z.ZodType {
  const { description = '' } = schema.meta() ?? {};
  if (key) return secretKeyRef.meta({ description: `${description} ${labeled}` });
  if (!keys) return schema;
  const open = flatRoomOptions(schema).filter(({ name }) => !keys.includes(name));
  const secretRef = z.object({ name: secretName }).meta({
    description: `Secret of the same namespace with the keys ${keys.map((each) => `\`${each}\``).join(' and ')}. ${labeled}`,
  });
  const shape = open.map(({ as, schema: field, required }) => [as, required ? field : field.optional()]);
  return z.object({ ...Object.fromEntries(shape), secretRef }).meta({ description });
}

function memberOfType(type: ComponentType): z.ZodType<ComponentOptions> {
  const { options, rules = [] } = definitionOf(type);
  const shape = flatRoomOptions(options).map((field) => [field.as, field.required ? inRoom(field) : inRoom(field).optional()]);
  const schema = z.object(Object.fromEntries(shape)).meta({ description: options.meta()?.description });
  return withRules(schema, ...rules.map((each) => rule(`!has(self.${each.option}) || ${each.rule}`, `${each.option} ${each.message}`)));
}

type Members = { [K in ComponentType]: z.ZodOptional<z.ZodType<ComponentOptions>> };
const members = Object.fromEntries(componentTypeNames.map((type) => [type, memberOfType(type).optional()])) as Members;

const fields = z.object({
  name: limitedText(
    63,
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    "must be lower case letters, digits and '-', with a letter or digit at both ends",
  ).meta({ description: 'Name, unique in this Room; it identifies the component.' }),
  ...members,
  // Both versions have the fields of both, because the API server drops fields that a version does not have, also when it reads.
  type: z.enum(componentTypeNames).optional().meta({ description: 'v1alpha1 only: component type.' }),
  options: preservedJson('v1alpha1 only: options of the component type.').optional(),
});

const isOneOf = [...componentTypeNames, 'type'].map((name) => `has(self.${name})`).join(', ');
const oneForm = `[${isOneOf}].filter(each, each).size() == 1`;
const oneOfMessage = `must have exactly one of ${componentTypeNames.join(', ').replace(/, ([^,]*)$/, ' and $1')}`;
const description = 'A component of the room: its options are in the member of its type; a change recreates it.';

export const componentSchema = withRules(
  fields.refine((component) => componentTypeNames.filter((type) => component[type] !== undefined).length === 1, oneOfMessage),
  {
    // A stored component may keep the form of v1alpha1. Ratcheting is not sufficient: it cannot compare options, whose schema is open.
    rule: `${oneForm} && (!has(self.type) || (oldSelf.hasValue() && has(oldSelf.value().type)))`,
    optionalOldSelf: true,
    message: oneOfMessage,
  },
).meta({ description });

/** As version v1alpha1 had it, or as the current version has it. The operator validates the options. */
export const v1alpha1ComponentSchema = withRules(fields, rule(oneForm, oneOfMessage)).meta({ description });

/** CEL: a component of this type, in the form of either version. */
export const isOfType = (type: ComponentType): string => `(has(each.${type}) || (has(each.type) && each.type == '${type}'))`;

/** A component in the current form; what is not in the form of v1alpha1 is returned unchanged. Accepts everything that may be stored. */
export function currentForm(component: unknown): unknown {
  if (!isOldForm(component)) return component;
  const { type, options, ...rest } = component;
  return { ...rest, [type]: options ?? {} };
}

export function isOldForm(component: unknown): component is { name: string; type: ComponentType; options?: ComponentOptions } {
  return typeof component === 'object' && component !== null && 'type' in component && isComponentType(component.type);
}

/** Type and options of a component in the current form; undefined if it has no member. */
export function memberOf(component: unknown): { type: ComponentType; options: ComponentOptions } | undefined {
  if (typeof component !== 'object' || component === null) return undefined;
  const given = component as Partial<Record<ComponentType, ComponentOptions | null>>;
  const type = componentTypeNames.find((each) => typeof given[each] === 'object' && given[each] !== null);
  return type && { type, options: given[type] ?? {} };
}
