// Component of a Room: derived from the table of component types. The options of all types are one object.
import { z } from 'zod';
import { type ComponentType, componentTypeNames, definitionOf } from '../api/component/types.ts';
import { type Rule, rule } from '../api/core/kube.ts';
import { type RoomOption, roomFields } from '../api/derive/room-options.ts';
import { limitedText, secretKeyRef, secretName, withRules } from './schema.ts';
import { kubernetesJson } from './structural.ts';

type Field = RoomOption & { type: ComponentType };

const fields: readonly Field[] = componentTypeNames.flatMap((type) =>
  roomFields(definitionOf(type).options).map((field) => ({ ...field, schema: inRoom(field), type })),
);
const byName = Map.groupBy(fields, ({ as }) => as);

/** What comes from Secrets is a reference. */
function inRoom({ schema, facts: { key, keys } }: RoomOption): z.ZodType {
  const { description = '' } = schema.meta() ?? {};
  if (key) return secretKeyRef.meta({ description });
  if (!keys) return schema;
  const open = roomFields(schema).filter(({ name }) => !keys.includes(name));
  const secretRef = z.object({ name: secretName }).meta({
    description: `Secret of the same namespace with the keys ${keys.map((each) => `\`${each}\``).join(' and ')}.`,
  });
  const shape = open.map(({ as, schema, required }) => [as, required ? schema : schema.optional()]);
  return z.object({ ...Object.fromEntries(shape), secretRef }).meta({ description });
}

const maximumOf = ({ schema }: Field) => Number(kubernetesJson(schema).maximum ?? Number.POSITIVE_INFINITY);

const options = z
  .object(
    Object.fromEntries(
      [...byName].map(([name, group]) => {
        const { schema } = group.reduce((one, other) => (maximumOf(other) > maximumOf(one) ? other : one));
        const texts = Map.groupBy(group, (each) => each.schema.meta()?.description);
        const description = [...texts].map(([text, same]) => `${same.map(({ type }) => type).join(', ')}: ${text}`).join(' ');
        return [name, schema.meta({ description }).optional()];
      }),
    ),
  )
  .meta({ description: 'Options of the component type; a change recreates it. Passwords and keys are read from Secrets only.' });

const needRules = componentTypeNames.flatMap((type) => {
  const names = fields.filter((field) => field.type === type && field.required).map(({ as }) => `options.${as}`);
  const text = names.join(', ').replace(/, ([^,]*)$/, ' and $1');
  const cel = `self.type != '${type}' || (${['options', ...names].map((name) => `has(self.${name})`).join(' && ')})`;
  return names.length === 0 ? [] : [rule(cel, `a component of type ${type} needs ${text}`)];
});

const boundRules = fields.flatMap((field) => {
  const { type, as } = field;
  if (!byName.get(as)?.some((other) => maximumOf(other) > maximumOf(field))) return [];
  return [optionRule(type, as, `self.${as} <= ${maximumOf(field)}`, `is at most ${maximumOf(field)}`)];
});

const ownRules = componentTypeNames.flatMap((type) =>
  (definitionOf(type).rules ?? []).map(({ option, rule: cel, message }) => optionRule(type, option, cel, message)),
);

const typeRules = [...byName].map(([name, group]) => {
  const types = group.map(({ type }) => type);
  const cel = `!has(self.options) || !has(self.options.${name}) || self.type in [${types.map((type) => `'${type}'`).join(', ')}]`;
  return rule(cel, `options.${name} is for components of type ${types.join(' or ')} only`);
});

/** @param cel about the options as `self`; checked only if the option is set */
function optionRule(type: ComponentType, option: string, cel: string, message: string): Rule {
  const unset = `self.type != '${type}' || !has(self.options) || !has(self.options.${option})`;
  return rule(`${unset} || ${cel.replaceAll('self.', 'self.options.')}`, `options.${option} of a component of type ${type} ${message}`);
}

export const componentSchema = withRules(
  z.object({
    name: limitedText(
      63,
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
      "must be lower case letters, digits and '-', with a letter or digit at both ends",
    ).meta({ description: 'Name, unique in this Room; it identifies the component.' }),
    type: z.enum(componentTypeNames).meta({ description: 'Component type; the cluster must have it enabled.' }),
    options: options.optional(),
  }),
  ...needRules,
  ...boundRules,
  ...ownRules,
  ...typeRules,
).meta({ description: 'A component of the room.' });
export type RoomComponentSpec = z.infer<typeof componentSchema>;
