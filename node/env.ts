// The environment, read in one place: SVC_X, else LEGACY_X (until 0.8.0); what is empty counts as unset.

export type Environment = Readonly<Record<string, string | undefined>>;
/** A value and the full name of the variable that it was taken from. */
export type EnvEntry = { name: string; text: string };

const prefix = 'SVC_';
const oldPrefix = 'LEGACY_';

/** The environment of this process, for those who start a node from it. */
export function processEnvironment(): Environment {
  return process.env;
}

/** Starts a child process that is not to hold our variables, the secrets among them. `start` must have started it when it returns. */
export function withoutSettings<Value>(start: () => Value): Value {
  const settings = Object.entries(process.env).filter(([name]) => name.startsWith(prefix) || name.startsWith(oldPrefix));
  for (const [name] of settings) delete process.env[name];
  try {
    return start();
  } finally {
    for (const [name, value] of settings) process.env[name] = value;
  }
}

export class EnvReader {
  readonly #env: Environment;
  readonly #legacy = new Set<string>();

  constructor(env: Environment) {
    this.#env = env;
  }

  /** `name` without prefix. White space around a value is dropped: files that secrets come from tend to end with a line break. */
  read(name: string): EnvEntry | undefined {
    const value = this.#take(prefix + name);
    if (value) return value;
    const old = this.#take(oldPrefix + name);
    if (old) this.#legacy.add(old.name);
    return old;
  }

  /** Full names of what was read under the old prefix. */
  get legacy(): string[] {
    return [...this.#legacy];
  }

  /** Variables with our prefix that are none of `known` (names without prefix): most likely mistyped. */
  unknown(known: ReadonlySet<string>): string[] {
    return Object.keys(this.#env).filter((name) => name.startsWith(prefix) && !known.has(name.slice(prefix.length)) && this.#take(name));
  }

  #take(name: string): EnvEntry | undefined {
    const text = this.#env[name]?.trim();
    return text ? { name, text } : undefined;
  }
}
