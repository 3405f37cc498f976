// JSON schemas: converts zod schemas to JSON Schema (draft 2020-12); schemas with an id become shared components.
import { z } from 'zod';

export type JsonSchema = {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  [field: string]: unknown;
};
type Direction = 'input' | 'output';

/**
 * Collects components. A schema with defaults differs by direction: a field that is optional in requests is always in responses. Then its
 * input form is named `<id>Input`.
 */
export class JsonSchemas {
  readonly #prefix: string;
  readonly #found: Record<Direction, Map<string, string>> = { input: new Map(), output: new Map() };
  readonly #pending: { schema: JsonSchema; direction: Direction }[] = [];

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Schema of a request. `components()` resolves its references. */
  input(schema: z.ZodType): JsonSchema {
    return this.#add(schema, 'input');
  }

  /** Schema of a response. */
  output(schema: z.ZodType): JsonSchema {
    return this.#add(schema, 'output');
  }

  /** All components; call it last, because it sets the references of every schema returned before. */
  components(): Record<string, JsonSchema> {
    const { input, output } = this.#found;
    const differing = new Set([...input].filter(([id, text]) => output.has(id) && output.get(id) !== text).map(([id]) => id));
    // A schema that refers to a differing schema differs too.
    for (let size = -1; size !== differing.size; ) {
      size = differing.size;
      for (const [id, text] of input)
        if (output.has(id) && [...differing].some((other) => text.includes(`"#/$defs/${other}"`))) differing.add(id);
    }
    const nameOf = (id: string, direction: Direction) => (direction === 'input' && differing.has(id) ? `${id}Input` : id);
    const components: Record<string, JsonSchema> = {};
    for (const direction of ['output', 'input'] as const) {
      for (const [id, text] of this.#found[direction]) {
        components[nameOf(id, direction)] ??= this.#settle(JSON.parse(text) as JsonSchema, (each) => nameOf(each, direction));
      }
    }
    for (const { schema, direction } of this.#pending) this.#settle(schema, (id) => nameOf(id, direction));
    return Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #add(zodSchema: z.ZodType, direction: Direction): JsonSchema {
    const {
      $schema: _,
      $defs = {},
      id,
      ...rest
    } = z.toJSONSchema(zodSchema, { io: direction, target: 'draft-2020-12', override: adjust }) as JsonSchema;
    let schema: JsonSchema = rest;
    for (const [name, definition] of Object.entries($defs)) {
      const { id: _id, ...body } = definition;
      this.#found[direction].set(name, JSON.stringify(body));
    }
    if (typeof id === 'string') {
      this.#found[direction].set(id, JSON.stringify(rest));
      schema = { $ref: `#/$defs/${id}` };
    }
    this.#pending.push({ schema, direction });
    return schema;
  }

  /** Replaces references in `schema`, in place. */
  #settle(schema: JsonSchema, nameOf: (id: string) => string): JsonSchema {
    visit(schema, (node) => {
      if (node.$ref?.startsWith('#/$defs/')) {
        node.$ref = this.#prefix + nameOf(node.$ref.slice('#/$defs/'.length));
      }
    });
    return schema;
  }
}

function adjust(context: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  leaveOpen(context);
  const { jsonSchema } = context;
  const { described, description } = jsonSchema;
  if (!(described instanceof z.ZodType)) return;
  // Accepts any object; `described` contains the schema that another module enforces.
  const { $schema: _, ...own } = z.toJSONSchema(described, { io: 'input', target: 'draft-2020-12', override: leaveOpen });
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, own, description === undefined ? {} : { description });
}

/** Responses may get fields in later versions: only strict zod objects are closed in the document. */
function leaveOpen({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (zodSchema._zod.def.type === 'object' && zodSchema._zod.def.catchall === undefined) delete jsonSchema.additionalProperties;
}

function visit(node: unknown, change: (node: JsonSchema) => void): void {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) change(node as JsonSchema);
  for (const child of Object.values(node)) visit(child, change);
}
