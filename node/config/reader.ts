// Variable reader: reads variables by their table and collects one error message per mistake, without secrets.

import { type EnvEntry, type Environment, EnvReader } from '../env.ts';
import { type Row, type StaticName, type StaticValue, staticVariables, type ValueFormat } from './variables.ts';

/** All errors of a configuration. The messages never contain a secret. */
export class ConfigError extends Error {
  readonly errors: readonly string[];

  constructor(errors: readonly string[]) {
    super(errors.join('\n'));
    this.name = 'ConfigError';
    this.errors = Object.freeze([...errors]);
  }
}

/** Converts the text of a variable for its schema. Invalid text stays text, so that the schema rejects it. */
export function parseText(valueFormat: ValueFormat, text: string): unknown {
  switch (valueFormat) {
    case 'text':
      return text;
    case 'words':
      return text.split(/\s+/);
    case 'flag':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'number':
      return text === 'none' ? null : /^-?\d{1,16}(\.\d{1,16})?$/.test(text) ? Number(text) : text;
    case 'json':
      return parseJson(text);
  }
}

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
    const row: Row = staticVariables[name];
    const given = this.env.read(name);
    const value = given && this.#check(name, given, row);
    if (value !== undefined) return value;
    return row.default === undefined ? undefined : staticVariables[name].schema.parse(parseText(row.form, row.default));
  }

  /** The name under which a variable is set, for messages; `SVC_X` if it is unset. */
  nameOf(name: StaticName): string {
    return this.env.read(name)?.name ?? `SVC_${name}`;
  }

  #check(name: StaticName, given: EnvEntry, row: Row): unknown {
    const result = staticVariables[name].schema.safeParse(parseText(row.form, given.text));
    if (result.success) return result.data;
    const expected = result.error.issues[0]?.message ?? 'to be valid';
    this.errors.push(configErrorMessage(given.name, expected, given.text, row.secret));
    return undefined;
  }
}
