// Environment: reads SVC_X, else LEGACY_X (until 0.8.0). Empty values count as unset.

export type Environment = Readonly<Record<string, string | undefined>>;
/** A value and the full name of its variable. */
export type EnvEntry = { name: string; text: string };

const prefix = 'SVC_';
const oldPrefix = 'LEGACY_';

/** The environment of this process, for the code that starts a node. */
export function processEnvironment(): Environment {
  return process.env;
}

/**
 * Starts a child process without our variables, because they contain secrets, and with those of `more`.
 * `start` must spawn the process before it returns.
 */
export function withoutSettings<Value>(start: () => Value, more: Readonly<Record<string, string>> = {}): Value {
  const settings = Object.keys(process.env).filter((name) => name.startsWith(prefix) || name.startsWith(oldPrefix));
  const before = [...settings, ...Object.keys(more)].map((name) => [name, process.env[name]] as const);
  for (const name of settings) delete process.env[name];
  Object.assign(process.env, more);
  try {
    return start();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

export class EnvReader {
  readonly #env: Environment;
  readonly #legacy = new Set<string>();

  constructor(env: Environment) {
    this.#env = env;
  }

  /** `name` without prefix. Surrounding white space is removed, because files with secrets often end with a line break. */
  read(name: string): EnvEntry | undefined {
    const value = this.#take(prefix + name);
    if (value) return value;
    const old = this.#take(oldPrefix + name);
    if (old) this.#legacy.add(old.name);
    return old;
  }

  /** Full names of variables read under the old prefix. */
  get legacy(): string[] {
    return [...this.#legacy];
  }

  /** Variables with our prefix that are not in `known` (names without prefix), for example because of a typo. */
  unknown(known: ReadonlySet<string>): string[] {
    return Object.keys(this.#env).filter((name) => name.startsWith(prefix) && !known.has(name.slice(prefix.length)) && this.#take(name));
  }

  #take(name: string): EnvEntry | undefined {
    const text = this.#env[name]?.trim();
    return text ? { name, text } : undefined;
  }
}
