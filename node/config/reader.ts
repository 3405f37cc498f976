// Variable reader: reads variables by their table and collects one error message per invalid value, without secrets.

import { z } from 'zod';
import type { Setting } from '../../api/core/setting.ts';
import { type StaticName, type StaticValue, staticSettings } from '../../api/settings/static.ts';
import { type EnvEntry, type Environment, EnvReader } from '../env.ts';

/** All errors of a configuration. The messages never contain a secret. */
export class ConfigError extends Error {
  readonly errors: readonly string[];

  constructor(errors: readonly string[]) {
    super(errors.join('\n'));
    this.name = 'ConfigError';
    this.errors = Object.freeze([...errors]);
  }
}

/** Converts the text of a variable for its schema, as in files. Invalid text stays text, so that the schema rejects it. */
export function readText({ schema, fromEnv }: Setting, text: string): unknown {
  if (fromEnv) return fromEnv(text);
  switch (typeOf(schema)) {
    case 'words':
      return text.split(/\s+/);
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'integer':
    case 'number':
      return text === 'none' ? null : /^-?\d{1,16}(\.\d{1,16})?$/.test(text) ? Number(text) : text;
    case 'array':
      return parseJson(text);
    default:
      return text;
  }
}

/** The JSON type that a schema accepts besides null; `words`: a list of texts. */
function typeOf(schema: z.ZodType): string | undefined {
  const { anyOf = [], ...whole } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonType;
  const { type, items } = anyOf.find((each) => each.type !== 'null') ?? whole;
  return type === 'array' && items?.type === 'string' ? 'words' : type;
}
type JsonType = { type?: string; items?: JsonType; anyOf?: JsonType[] };

function parseJson(text: string): unknown {
  try {
    return text.length > 64 * 1024 ? text : JSON.parse(text);
  } catch {
    return text;
  }
}

/** `Expected X to be Y, got: Z`; secrets and the user part of a URL are not shown. */
export function configErrorMessage(name: string, expected: string, got: string, secret = false): string {
  return `Expected ${name} ${expected}, got: ${secret ? 'a value that is not shown here' : showText(got)}`;
}

function showText(text: string): string {
  const shown = text.replaceAll(/\/\/[^/\s]*@/g, '//***@');
  const short = shown.length > 100 ? `${shown.slice(0, 100)}...` : shown;
  return /^[\x20-\x7e]*$/.test(short) ? short : JSON.stringify(short);
}

export class ConfigReader {
  readonly env: EnvReader;
  readonly errors: string[] = [];
  readonly warnings: string[] = [];
  readonly #values = new Map<StaticName, unknown>();

  constructor(env: Environment) {
    this.env = new EnvReader(env);
  }

  /** The value of a variable or its default. After an error it continues with the default, so that all errors are found. */
  read<Name extends StaticName>(name: Name): StaticValue<Name> {
    if (!this.#values.has(name)) this.#values.set(name, this.#take(name));
    return this.#values.get(name) as StaticValue<Name>;
  }

  #take(name: StaticName): unknown {
    const setting = staticSetting(name);
    const given = this.env.read(name);
    const value = given && this.#check(given, setting);
    if (value !== undefined) return value;
    return setting.default === undefined ? undefined : setting.schema.parse(setting.default);
  }

  /** The name under which a variable is set, for messages; `SVC_X` if it is unset. */
  nameOf(name: StaticName): string {
    return this.env.read(name)?.name ?? `SVC_${name}`;
  }

  #check(given: EnvEntry, setting: Setting): unknown {
    const result = setting.schema.safeParse(readText(setting, given.text));
    if (result.success) return result.data;
    const expected = result.error.issues[0]?.message ?? 'to be valid';
    this.errors.push(configErrorMessage(given.name, expected, given.text, setting.secret));
    return undefined;
  }
}

const byName = new Map<StaticName, Setting>(staticSettings.map((setting) => [setting.env, setting]));

function staticSetting(name: StaticName): Setting {
  const setting = byName.get(name);
  if (!setting) throw new Error(`no setting ${name}`);
  return setting;
}
