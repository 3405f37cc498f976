// JSON Schemas of zod schemas for one document: what several of them share is named once under components.
import { z } from 'zod';

type JsonObject = Record<string, unknown>;
const reference = '#/components/schemas/';

/** Collects the shared schemas of a document while its messages are described. */
export class JsonSchemas {
  readonly shared: Record<string, JsonObject> = {};

  /** The schema as JSON Schema. `io`: what comes in (defaults may be left out) or what goes out. */
  of(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
    const { $schema: _, $defs = {}, ...rest } = z.toJSONSchema(schema, { io }) as JsonObject & { $defs?: Record<string, JsonObject> };
    const names = new Map(Object.entries($defs).map(([name, definition]) => [name, this.#name(name, definition, $defs)]));
    for (const [name, definition] of Object.entries($defs)) this.shared[names.get(name) ?? name] = point(definition, names) as JsonObject;
    return point(rest, names) as JsonObject;
  }

  /** The name in the document: the same for equal definitions, another where in and out differ. */
  #name(name: string, definition: JsonObject, all: Record<string, JsonObject>): string {
    // What zod had to name by itself is JSON of any shape, the one recursive schema that we have.
    const wanted = name.startsWith('__') ? 'Json' : name;
    const known = this.shared[wanted];
    const plain = new Map(Object.keys(all).map((each) => [each, each.startsWith('__') ? 'Json' : each]));
    return known === undefined || JSON.stringify(known) === JSON.stringify(point(definition, plain)) ? wanted : `${wanted}Input`;
  }
}

/** The same with every reference pointing into the document. */
function point(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => point(each, names));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => {
    if (key !== '$ref' || typeof each !== 'string') return [key, point(each, names)];
    const name = each.replace('#/$defs/', '');
    return [key, `${reference}${names.get(name) ?? name}`];
  });
  return Object.fromEntries(entries);
}
