// Configuration of the operator: environment and command line, read once. All errors are reported together.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { isCollectorUrl } from '../api/settings/values.ts';
import manifest from '../package.json' with { type: 'json' };
import { messageOf } from './error-message.ts';
import { type LogLevel, logLevels } from './log.ts';

export const { version } = manifest;

/** Reports all configuration errors, one message each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly errors: readonly string[];

  constructor(errors: readonly string[]) {
    super(errors.join('\n'));
    this.errors = errors;
  }
}

/** Times are in milliseconds. `namespaces`: empty means all. */
export type OperatorConfig = ReturnType<typeof readConfig>;

/** Name, default and meaning; a test compares the table of docs/reference/operator.md with it. */
export const variables = {
  OPERATOR_NAMESPACE: ["the namespace of the Pod's service account, else `default`", 'Namespace of the operator and of its Lease.'],
  OPERATOR_WATCH_NAMESPACES: ['OPERATOR_NAMESPACE', 'Namespaces whose resources it manages, separated by spaces; `*` = all.'],
  OPERATOR_LEADER_ELECTION: ['true', 'Of several operators only the holder of the Lease reconciles.'],
  OPERATOR_LEASE_DURATION: ['15000', 'Milliseconds after which another operator acquires a Lease that is not renewed.'],
  OPERATOR_IDENTITY: ['host name and process id', 'Name of the process in the Lease and in events.'],
  OPERATOR_INSTALLATION: [
    '`OPERATOR_NAMESPACE`/mediarooms-operator',
    'Name of the installation in the claims of its namespaces; all replicas have the same.',
  ],
  OPERATOR_NODE_IMAGE: [`ghcr.io/mediarooms/node:${version}`, 'Image of media nodes if their MediaCluster has none.'],
  OPERATOR_CLUSTER_DOMAIN: ['cluster.local', 'DNS domain of the Kubernetes cluster, in which nodes find each other.'],
  OPERATOR_APPLY_DEFINITIONS: ['true', 'Upgrade outdated CustomResourceDefinitions at start.'],
  OPERATOR_ROOM_WORKERS: ['16', 'Rooms that are reconciled in parallel.'],
  OPERATOR_CLUSTER_WORKERS: ['8', 'MediaClusters that are reconciled in parallel.'],
  OPERATOR_API_TIMEOUT: ['10000', 'Timeout of a request to the API server in milliseconds.'],
  OPERATOR_IP: ['::', 'Address of /metrics, /healthz and /readyz; `::` is every IPv4 and IPv6 address.'],
  OPERATOR_PORT: ['8081', 'Port of OPERATOR_IP; 0 selects any free port.'],
  OPERATOR_TRACES_ENDPOINT: ['none', 'Collector of OpenTelemetry (OTLP over HTTP), for example http://collector:4318/v1/traces.'],
  OPERATOR_TRACES_SAMPLE_PERCENT: ['10', 'Share of changes of Rooms that are traced.'],
  OPERATOR_LOG_LEVEL: ['info', '`error`, `warning`, `info` or `debug`.'],
  OPERATOR_STRUCTURED_LOGGING: ['true', 'Log JSON lines instead of text.'],
  KUBECONFIG: ["none: the Pod's service account", 'Path of a kubeconfig; `--kubeconfig` wins.'],
} as const satisfies Record<string, readonly [standard: string, meaning: string]>;
type Variable = keyof typeof variables;

export const usage = `Usage: operator [--once | --uninstall [--delete-resources [--delete-claims]] [--timeout SECONDS] [--release NAME] | --smoke URL --tokens FOLDER] [--kubeconfig FILE]

  --once             dry run: print the changes as a diff; exit code 0 without changes, 1 with changes, 2 on an error
  --uninstall        remove the finalizers of the operator from all Rooms and MediaClusters of the watched namespaces
  --delete-resources with --uninstall: delete these Rooms and MediaClusters; remove finalizers of those not deleted in time
  --delete-claims    with --delete-resources: delete claims and generated Secrets too
  --timeout SECONDS  timeout of --uninstall and --smoke (120)
  --release NAME     with --uninstall: do nothing if operators of other releases run in these namespaces
  --smoke URL        test the media nodes at URL: a room, a peer, its websocket, its media address
  --tokens FOLDER    with --smoke: folder of a mounted Secret of API tokens
  --no-media         with --smoke: do not test the media address
  --kubeconfig FILE  Kubernetes cluster; default KUBECONFIG, then the service account of the Pod

${Object.entries(variables)
  .map(([name, [standard, meaning]]) => `  ${name} (${standard})\n      ${meaning}`)
  .join('\n')}
`;

const serviceAccountNamespace = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
const labelValue = /^[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/;
const namespacePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const domainPattern = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

/** @throws ConfigError */
export function readConfig(environment: NodeJS.ProcessEnv = process.env, args: readonly string[] = process.argv.slice(2)) {
  const reader = new Reader(environment);
  const given = parse(args, reader.errors);
  const namespace = reader.matching('OPERATOR_NAMESPACE', namespacePattern, 'a namespace', podNamespace() ?? 'default');
  const config = {
    namespace,
    namespaces: reader.namespaces('OPERATOR_WATCH_NAMESPACES', namespace),
    leaderElection: reader.flag('OPERATOR_LEADER_ELECTION'),
    leaseDuration: reader.integer('OPERATOR_LEASE_DURATION', 1_000, 600_000),
    identity: reader.matching('OPERATOR_IDENTITY', /^[\w.-]{1,128}$/, 'a name of 1 to 128 characters', `${hostname()}_${process.pid}`),
    installation: reader.matching(
      'OPERATOR_INSTALLATION',
      /^[\w./-]{1,253}$/,
      'a name of 1 to 253 characters',
      `${namespace}/mediarooms-operator`,
    ),
    nodeImage: reader.matching('OPERATOR_NODE_IMAGE', /^[^\s]{1,1024}$/, 'an image'),
    clusterDomain: reader.matching('OPERATOR_CLUSTER_DOMAIN', domainPattern, 'a DNS domain'),
    applyDefinitions: reader.flag('OPERATOR_APPLY_DEFINITIONS'),
    roomWorkers: reader.integer('OPERATOR_ROOM_WORKERS', 1, 256),
    clusterWorkers: reader.integer('OPERATOR_CLUSTER_WORKERS', 1, 64),
    apiTimeout: reader.integer('OPERATOR_API_TIMEOUT', 100, 300_000),
    ip: reader.matching('OPERATOR_IP', /^[0-9a-fA-F.:]{2,45}$/, 'an IP address'),
    port: reader.integer('OPERATOR_PORT', 0, 65_535),
    traces: {
      endpoint: reader.collector('OPERATOR_TRACES_ENDPOINT'),
      samplePercent: reader.integer('OPERATOR_TRACES_SAMPLE_PERCENT', 0, 100),
    },
    logLevel: reader.oneOf('OPERATOR_LOG_LEVEL', Object.keys(logLevels) as LogLevel[]),
    structuredLogging: reader.flag('OPERATOR_STRUCTURED_LOGGING'),
    kubeconfig: given.kubeconfig ?? reader.text('KUBECONFIG'),
    task: tasks.find((task) => given[task] !== undefined) ?? ('run' as const),
    timeout: timeoutOf(given, reader.errors),
    release: given.release,
    deleteResources: given['delete-resources'] === true,
    deleteClaims: given['delete-claims'] === true,
    smoke: { url: given.smoke ?? '', tokens: given.tokens ?? '', media: given['no-media'] !== true },
  };
  if (reader.errors.length > 0) throw new ConfigError(reader.errors);
  return config;
}

const tasks = ['once', 'uninstall', 'smoke'] as const;
const options = {
  once: { type: 'boolean' },
  uninstall: { type: 'boolean' },
  timeout: { type: 'string' },
  release: { type: 'string' },
  'delete-resources': { type: 'boolean' },
  'delete-claims': { type: 'boolean' },
  smoke: { type: 'string' },
  tokens: { type: 'string' },
  'no-media': { type: 'boolean' },
  kubeconfig: { type: 'string' },
} as const;
type Options = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

function parse(args: readonly string[], errors: string[]): Options {
  try {
    const { values } = parseArgs({ args: [...args], options });
    if (values.release !== undefined && !labelValue.test(values.release)) errors.push('Expected --release to be a release name');
    if (values['delete-claims'] && !values['delete-resources'])
      errors.push('Expected --delete-claims to be set together with --delete-resources');
    const requested = tasks.filter((task) => values[task] !== undefined).map((task) => `--${task}`);
    if (requested.length > 1) errors.push(`Expected only one of --once, --uninstall and --smoke, got: ${requested.join(' and ')}`);
    if (values.smoke !== undefined && !/^https?:\/\/[^/\s]+$/.test(values.smoke))
      errors.push(`Expected --smoke to be http:// or https:// with a host, got: ${values.smoke.slice(0, 100)}`);
    if (values.smoke !== undefined && !values.tokens) errors.push('Expected --tokens to be set together with --smoke');
    return values;
  } catch (error) {
    errors.push(`Invalid command line: ${messageOf(error)}`);
    return {};
  }
}

function timeoutOf({ timeout = '120' }: Options, errors: string[]): number {
  if (!/^\d{1,5}$/.test(timeout)) errors.push(`Expected --timeout to be a number of seconds, got: ${timeout.slice(0, 100)}`);
  return Number(timeout) * 1000;
}

function podNamespace(): string | undefined {
  try {
    return readFileSync(serviceAccountNamespace, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

class Reader {
  readonly errors: string[] = [];
  readonly #environment: NodeJS.ProcessEnv;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** An empty value counts as unset. */
  text(name: Variable): string | undefined {
    return this.#environment[name] || undefined;
  }

  matching(name: Variable, pattern: RegExp, expected: string, standard: string = variables[name][0]): string {
    const text = this.text(name) ?? standard;
    if (!pattern.test(text)) this.#wrong(name, expected, text);
    return text;
  }

  /** @returns undefined without a collector */
  collector(name: Variable): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (!isCollectorUrl(text)) this.#wrong(name, 'the http or https URL of a collector', text);
    return text;
  }

  oneOf<const Word extends string>(name: Variable, words: readonly Word[], expected = words.join(', ')): Word {
    return this.matching(name, new RegExp(`^(?:${words.join('|')})$`), expected) as Word;
  }

  flag(name: Variable): boolean {
    return this.oneOf(name, ['true', 'false'], 'true or false') === 'true';
  }

  integer(name: Variable, minimum: number, maximum: number): number {
    const text = this.text(name) ?? variables[name][0];
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number >= minimum && number <= maximum)) this.#wrong(name, `an integer from ${minimum} to ${maximum}`, text);
    return number;
  }

  /** Unset means the local namespace. Only `*` means all, so that a missing variable does not widen the scope. */
  namespaces(name: Variable, own: string): readonly string[] {
    const words = (this.text(name) ?? own).split(/\s+/).filter((word) => word !== '');
    if (words.includes('*')) {
      if (words.length > 1) this.#wrong(name, '`*` alone, or namespaces', words.join(' '));
      return [];
    }
    for (const word of words) if (!namespacePattern.test(word)) this.#wrong(name, 'namespaces', word);
    return words.length > 0 ? [...new Set(words)] : [own];
  }

  #wrong(name: Variable, expected: string, got: string): void {
    this.errors.push(`Expected ${name} to be ${expected}, got: ${got.slice(0, 100)}`);
  }
}
