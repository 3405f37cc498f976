// Schemas of REST as fields of a Room: their names there, and which of them come from Secrets.
import { z } from 'zod';
import { type KubeFacts, kube } from '../core/kube.ts';

export type RoomOption = {
  /** In REST. */
  name: string;
  /** In a Room. */
  as: string;
  /** Never optional or nullable: in a Room an unset option is omitted. */
  schema: z.ZodType;
  required: boolean;
  facts: KubeFacts;
  /** Fields that replace it in a Room. */
  inside?: RoomOption[];
};

export function roomOptions(options: z.ZodType): RoomOption[] {
  return Object.entries((options as z.ZodObject).shape as Record<string, z.ZodType>).map(([name, schema]) => {
    const facts = factsOf(schema);
    const { as = name, flat } = facts;
    const inside = flat ? { inside: roomOptions(unwrapped(schema)) } : {};
    return { name, as, schema: resourceSchema(schema), required: !schema.safeParse(undefined).success, facts, ...inside };
  });
}

/** Without the options that other fields replace. */
export function flatRoomOptions(options: z.ZodType): RoomOption[] {
  return roomOptions(options).flatMap((option) => option.inside ?? [option]);
}

/** In a resource an unset field is omitted: neither optional nor nullable. */
export function resourceSchema(outer: z.ZodType): z.ZodType {
  const inner = unwrapped(outer);
  const { description = inner.meta()?.description, default: byDefault } = outer.meta() ?? {};
  const text = factsOf(outer).doc ?? description;
  // A default of the API server would be stored, and would not follow that of a newer node.
  const about = byDefault === undefined ? text : `${text?.replace(/\.$/, '')}; ${byDefault} if omitted.`;
  return about === undefined ? inner : inner.meta({ description: about });
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const inner = innerOf(schema);
  return inner ? unwrapped(inner) : schema;
}

/** Facts hang on instances: those of the wrapper take precedence. */
function factsOf(schema: z.ZodType): KubeFacts {
  const inner = innerOf(schema);
  return { ...(inner && factsOf(inner)), ...kube.get(schema) };
}

/** Inside of optional, nullable and a transform. */
function innerOf(schema: z.ZodType): z.ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return schema.unwrap() as z.ZodType;
  return schema instanceof z.ZodPipe ? (schema.in as z.ZodType) : undefined;
}
