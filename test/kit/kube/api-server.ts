// Level 1 of the kit: a real etcd and kube-apiserver of one test or one file of tests, on loopback, with a data folder of their own.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkLast } from '../check-last.ts';
import { eventually } from '../eventually.ts';
import { freePorts } from '../network/free-ports.ts';
import { kubernetesPrograms } from './binaries.ts';
import { Child } from './child.ts';
import { JsonClient } from './https-json.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { type Kubectl, type KubectlResult, kubectlOf } from './kubectl.ts';
import { PrintedSecrets, type StoredSecret } from './printed-secrets.ts';
import type { Scope } from './scope.ts';

/** Somebody who asks the API server, known to it by a token. */
export type ApiUser = { name: string; groups?: readonly string[] };

export type ApiServerOptions = {
  /** Known besides the administrator: `kubeconfigFor({ user: name })`. They may do what RBAC gives them. */
  users?: readonly ApiUser[];
  /** Whether a pod needs a ServiceAccount that exists; only where a controller makes the default ones. */
  serviceAccountAdmission?: boolean;
  /** Added to the command line of kube-apiserver. */
  flags?: readonly string[];
  /** Where it runs, if not on loopback: an address, and what a command begins with to run there. */
  place?: { address: string; wrap: readonly string[] };
};

/** Who asks, and where: without a user the administrator, without a server the API server itself. */
export type KubeconfigFor = { user?: string; token?: string; server?: string; namespace?: string };

const startTimeoutMs = 120_000;
const folderPrefix = 'mediarooms-kube-';
const administrator: ApiUser = { name: 'admin', groups: ['system:masters'] };

export class ApiServer {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Everything of this API server is in here; removed at the end. */
  readonly dir: string;
  /** Runs kubectl as the administrator, or with the kubeconfig of the call. */
  readonly kubectl: Kubectl;
  /** Requests of the kit's own, as the administrator. */
  readonly client: JsonClient;
  /** Of the administrator. */
  readonly token: string;
  /** What must not stand in the output of those who ask it. */
  readonly printed = new PrintedSecrets();
  readonly #options: ApiServerOptions;
  readonly #programs = kubernetesPrograms(['etcd', 'kube-apiserver', 'kubectl']);
  readonly #ports: { api: number; etcd: number; peers: number };
  readonly #tokens = new Map<string, string>();
  readonly #children = new Map<string, Child>();
  readonly #controllers = new Map<string, readonly string[]>();
  readonly #endings: (() => Promise<void>)[] = [];
  #kubeconfigs = 0;

  private constructor(dir: string, ports: readonly number[], options: ApiServerOptions) {
    const [api = 0, etcd = 0, peers = 0] = ports;
    this.dir = dir;
    this.#ports = { api, etcd, peers };
    this.#options = options;
    this.url = `https://${options.place?.address ?? '127.0.0.1'}:${api}`;
    this.kubeconfig = join(dir, 'admin.conf');
    this.token = this.#addToken(administrator);
    for (const user of options.users ?? []) this.#addToken(user);
    this.client = new JsonClient(this.url, this.token);
    this.kubectl = kubectlOf(this.#programs.kubectl, this.kubeconfig, join(dir, 'kubectl'));
  }

  /** Ready when it returns; ends with the scope. */
  static async start(scope: Scope, options: ApiServerOptions = {}): Promise<ApiServer> {
    removeLeftFolders();
    const dir = mkdtempSync(join(tmpdir(), `${folderPrefix}${process.pid}-`));
    const server = new ApiServer(dir, await freePorts(3), options);
    scope.after(() => server.close());
    checkLast(scope, () => server.printed.check());
    await mkdir(join(dir, 'kubectl'));
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(server.serviceAccountKey, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
    server.#startEtcd();
    await server.startApiServer();
    writeKubeconfig(server.kubeconfig, server.#access({}));
    return server;
  }

  /** Process ids of what runs now, by name: `etcd`, `kube-apiserver`. */
  get pids(): Record<string, number> {
    return Object.fromEntries([...this.#children].filter(([, child]) => child.end === undefined).map(([name, { pid }]) => [name, pid]));
  }

  /** Files that the programs write to, by name. */
  get logs(): Record<string, string> {
    return Object.fromEntries([...this.#children].map(([name, { log }]) => [name, log]));
  }

  /** PEM file that signs the tokens of ServiceAccounts. */
  get serviceAccountKey(): string {
    return join(this.dir, 'service-accounts.key');
  }

  /** PEM file that vouches for the API server. */
  get authority(): string {
    return join(this.dir, 'certificates', 'apiserver.crt');
  }

  /** Writes a kubeconfig of somebody else, or one that asks through another address, such as a proxy. @returns its path */
  kubeconfigFor(who: KubeconfigFor): string {
    this.#kubeconfigs += 1;
    const path = join(this.dir, `kubeconfig-${this.#kubeconfigs}`);
    writeKubeconfig(path, this.#access(who));
    return path;
  }

  /** Token of a ServiceAccount, which is made where there is none: what a pod of it would have. */
  async serviceAccountToken(namespace: string, name: string): Promise<string> {
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    const made = await this.client.call(accounts, { method: 'POST', body: { metadata: { name } } });
    if (made.status !== 201 && made.status !== 409) throw new Error(`no ServiceAccount: ${JSON.stringify(made.body)}`);
    const request = { spec: { expirationSeconds: 36_000 } };
    const { status, body } = await this.client.call(`${accounts}/${name}/token`, { method: 'POST', body: request });
    if (status !== 201) throw new Error(`no token: ${JSON.stringify(body)}`);
    const { token } = (body as { status: { token: string } }).status;
    this.printed.secret(`the token of the ServiceAccount "${name}"`, token);
    return token;
  }

  /** `kubectl apply` of YAML or of objects, by the server. @throws with its sentence where it refuses */
  async apply(manifest: string | object | readonly object[]): Promise<KubectlResult> {
    const objects = Array.isArray(manifest) ? { apiVersion: 'v1', kind: 'List', items: manifest } : manifest;
    const input = typeof objects === 'string' ? objects : JSON.stringify(objects);
    const result = await this.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input });
    if (result.code !== 0) throw new Error(result.stderr);
    return result;
  }

  /**
   * Starts kube-apiserver at the same address again. Ready when it returns. The controllers begin anew, as those do that could not renew their
   * Lease: they would ask again after up to a minute (client-go waits 30 s, doubled by chance), and take hosts for silent until then.
   */
  async startApiServer(): Promise<void> {
    await this.#serve();
    for (const [name, command] of this.#controllers) {
      await this.#children.get(name)?.stop();
      this.run(name, command);
    }
  }

  /** Ends kube-apiserver without a word to anybody, as an outage does; etcd stays. */
  async stopApiServer(): Promise<void> {
    await this.#children.get('kube-apiserver')?.stop('SIGKILL');
  }

  /**
   * Makes etcd forget all but the present. A watch from an earlier version is answered with 410 once the API server was restarted as well,
   * which keeps a while in memory.
   * @returns the revision that is left
   */
  async compactEtcd(): Promise<number> {
    const etcd = new JsonClient(`http://127.0.0.1:${this.#ports.etcd}`);
    const found = await etcd.call('/v3/kv/range', { method: 'POST', body: { key: 'AA==' } });
    const { revision } = (found.body as { header: { revision: string } }).header;
    const { status, body } = await etcd.call('/v3/kv/compaction', { method: 'POST', body: { revision, physical: true } });
    if (status !== 200) throw new Error(`etcd did not compact: ${JSON.stringify(body)}`);
    return Number(revision);
  }

  /** Starts a program that ends with the API server. */
  run(name: string, command: readonly string[]): Child {
    // They live a minute or two: collecting garbage less often spares a sixth of what they compute, for 100 MB.
    const env = { ...process.env, GOGC: '400' };
    const child = new Child(command, { log: join(this.dir, `${name}.log`), env, cwd: this.dir, wrap: this.#options.place?.wrap });
    this.#children.set(name, child);
    return child;
  }

  /** Starts one of Kubernetes' own that watches the API server. Ends with it, and begins anew when it was away. */
  runController(name: string, command: readonly string[]): void {
    this.#controllers.set(name, command);
    this.run(name, command);
  }

  /** When an object is there. @throws when it is not in time */
  async waitFor(what: string, path: string): Promise<void> {
    const isThere = async () => (await this.client.call(path).catch(() => undefined))?.status === 200;
    await eventually(what, isThere, { within: startTimeoutMs });
  }

  /** What must end before the API server does; the last that was given is the first. */
  beforeEnd(end: () => Promise<void>): void {
    this.#endings.unshift(end);
  }

  /** Ends everything and removes the folder. Idempotent. */
  async close(): Promise<void> {
    await this.#noteSecrets();
    for (const end of this.#endings.splice(0)) await end();
    this.client.close();
    // Nothing is kept, so nobody is asked politely.
    await Promise.all([...this.#children.values()].map((child) => child.stop('SIGKILL')));
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Those that there are, where the API server runs. */
  async #noteSecrets(): Promise<void> {
    if (this.pids['kube-apiserver'] === undefined) return;
    const answer = await this.client.call('/api/v1/secrets').catch(() => undefined);
    if (answer?.status === 200) for (const secret of (answer.body as { items: StoredSecret[] }).items) this.printed.stored(secret);
  }

  #addToken({ name, groups = [] }: ApiUser): string {
    const token = randomBytes(16).toString('hex');
    this.#tokens.set(name, token);
    this.printed.secret(`the token of ${name}`, token);
    writeFileSync(join(this.dir, 'tokens.csv'), `${token},${name},${name},"${groups.join(',')}"\n`, { flag: 'a', mode: 0o600 });
    return token;
  }

  #access({ user, token, server = this.url, namespace }: KubeconfigFor) {
    const known = token ?? this.#tokens.get(user ?? administrator.name);
    if (known === undefined) throw new Error(`${user} was not given to startApiServer`);
    return { server, authority: this.authority, token: known, ...(namespace === undefined ? {} : { namespace }) };
  }

  #startEtcd(): void {
    const { etcd, peers } = this.#ports;
    const clients = `http://127.0.0.1:${etcd}`;
    this.run('etcd', [
      this.#programs.etcd,
      `--data-dir=${join(this.dir, 'etcd')}`,
      `--listen-client-urls=${clients}`,
      `--advertise-client-urls=${clients}`,
      `--listen-peer-urls=http://127.0.0.1:${peers}`,
      '--unsafe-no-fsync=true',
      '--log-level=warn',
    ]);
  }

  async #serve(): Promise<void> {
    let child = this.#runApiServer();
    const isReady = async () => {
      if ((await this.client.call('/readyz').catch(() => undefined))?.status === 200) return true;
      // Where its first steps take longer than half a minute it gives up, and is started again by whoever looks after it.
      if (child.end !== undefined) child = this.#runApiServer();
      return false;
    };
    await eventually(() => `kube-apiserver is ready:\n${child.tail()}`, isReady, { within: startTimeoutMs });
  }

  #runApiServer(): Child {
    return this.run('kube-apiserver', [this.#programs['kube-apiserver'], ...this.#apiServerFlags()]);
  }

  #apiServerFlags(): string[] {
    const { api, etcd } = this.#ports;
    const { place } = this.#options;
    const address = place?.address ?? '127.0.0.1';
    return [
      `--etcd-servers=http://127.0.0.1:${etcd}`,
      `--bind-address=${address}`,
      `--advertise-address=${address}`,
      `--secure-port=${api}`,
      `--cert-dir=${join(this.dir, 'certificates')}`,
      `--token-auth-file=${join(this.dir, 'tokens.csv')}`,
      `--authorization-mode=${place ? 'Node,RBAC' : 'RBAC'}`,
      '--allow-privileged=true',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.serviceAccountKey}`,
      `--service-account-signing-key-file=${this.serviceAccountKey}`,
      // It would refuse to advertise an address of loopback as an endpoint.
      ...(place ? [] : ['--endpoint-reconciler-type=none']),
      ...(this.#options.serviceAccountAdmission ? [] : ['--disable-admission-plugins=ServiceAccount']),
      ...(this.#options.flags ?? []),
    ];
  }
}

/** A real API server with nothing behind it: CRDs, CEL, server-side apply, watches, RBAC, Leases; no controller runs. Ready in about 4 s. */
export function startApiServer(scope: Scope, options: ApiServerOptions = {}): Promise<ApiServer> {
  return ApiServer.start(scope, options);
}

/** Of tests whose process was killed before it could remove its own. */
function removeLeftFolders(): void {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(folderPrefix))) {
    const pid = Number(/^\d+/.exec(name.slice(folderPrefix.length))?.[0]);
    if (pid <= 0 || isRunning(pid)) continue;
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true, maxRetries: 10 });
    } catch {
      // Its programs may still be ending and writing, or somebody else removes it, too: the next one finds what is left.
    }
  }
}

/** Whether there is a process of that id. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
