// Level 1 of the kit: real etcd and kube-apiserver on loopback for one test or one file of tests, with a separate data folder.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkLast } from '../check-last.ts';
import { eventually } from '../eventually.ts';
import { freePorts } from '../network/free-ports.ts';
import { isAlive } from '../processes/alive.ts';
import { kubernetesPrograms } from './binaries.ts';
import { Child } from './child.ts';
import { JsonClient } from './https-json.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { type Kubectl, kubectlOf } from './kubectl.ts';
import { PrintedSecrets, type StoredSecret } from './printed-secrets.ts';
import type { Scope } from './scope.ts';

/** A user of the API server, identified by a token. */
export type ApiUser = { name: string; groups?: readonly string[] };

export type ApiServerOptions = {
  /** Users besides the administrator, for `kubeconfigFor({ user: name })`. RBAC decides their permissions. */
  users?: readonly ApiUser[];
  /** Whether a pod needs an existing ServiceAccount; only if a controller creates the default ones. */
  serviceAccountAdmission?: boolean;
  /** Additional flags of kube-apiserver. */
  flags?: readonly string[];
  /** Where it runs, if not on loopback: an address, and a command prefix to run there. */
  place?: { address: string; wrap: readonly string[] };
};

/** User and server of a kubeconfig: by default the administrator and the API server itself. */
export type KubeconfigFor = { user?: string; token?: string; server?: string; namespace?: string };

const startTimeoutMs = 120_000;
const folderPrefix = 'mediarooms-kube-';
const administrator: ApiUser = { name: 'admin', groups: ['system:masters'] };

export class ApiServer {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  /** Path of the kubeconfig of the administrator. */
  readonly kubeconfig: string;
  /** Folder of this API server; deleted at the end. */
  readonly dir: string;
  /** Runs kubectl as the administrator, or with the given kubeconfig. */
  readonly kubectl: Kubectl;
  /** HTTP client of the kit, as the administrator. */
  readonly client: JsonClient;
  /** Secrets that must not appear in the output of clients. */
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
    this.client = new JsonClient(this.url, this.#addToken(administrator));
    for (const user of options.users ?? []) this.#addToken(user);
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

  /** Log files of the programs, by name. */
  get logs(): Record<string, string> {
    return Object.fromEntries([...this.#children].map(([name, { log }]) => [name, log]));
  }

  /** PEM file of the key that signs tokens of ServiceAccounts. */
  get serviceAccountKey(): string {
    return join(this.dir, 'service-accounts.key');
  }

  /** PEM file of the CA of the API server. */
  get authority(): string {
    return join(this.dir, 'certificates', 'apiserver.crt');
  }

  /** Writes a kubeconfig for another user, or for another address such as a proxy. @returns its path */
  kubeconfigFor(who: KubeconfigFor): string {
    this.#kubeconfigs += 1;
    const path = join(this.dir, `kubeconfig-${this.#kubeconfigs}`);
    writeKubeconfig(path, this.#access(who));
    return path;
  }

  /** Token of a ServiceAccount, as in its pods; creates the ServiceAccount if it does not exist. */
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

  /** Server-side `kubectl apply` of YAML or objects. @throws with the message of a rejection */
  async apply(manifest: string | object | readonly object[]): Promise<void> {
    const objects = Array.isArray(manifest) ? { apiVersion: 'v1', kind: 'List', items: manifest } : manifest;
    const input = typeof objects === 'string' ? objects : JSON.stringify(objects);
    const { code, stderr } = await this.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input });
    if (code !== 0) throw new Error(stderr);
  }

  /**
   * Restarts kube-apiserver at the same address. Ready when it returns. The controllers restart like those that lost their Lease: otherwise
   * they would reconnect after up to a minute (client-go waits 30 s, randomly doubled), and treat Kubernetes nodes as unreachable until
   * then.
   */
  async startApiServer(): Promise<void> {
    await this.#serve();
    for (const [name, command] of this.#controllers) {
      await this.#children.get(name)?.stop();
      this.#run(name, command);
    }
  }

  /** Kills kube-apiserver, as in an outage; etcd keeps running. */
  async stopApiServer(): Promise<void> {
    await this.#children.get('kube-apiserver')?.stop('SIGKILL');
  }

  /**
   * Compacts etcd to the current revision. A watch from an earlier version gets 410 after a restart of the API server, which keeps recent
   * versions in memory.
   * @returns the remaining revision
   */
  async compactEtcd(): Promise<number> {
    const etcd = new JsonClient(`http://127.0.0.1:${this.#ports.etcd}`);
    const found = await etcd.call('/v3/kv/range', { method: 'POST', body: { key: 'AA==' } });
    const { revision } = (found.body as { header: { revision: string } }).header;
    const { status, body } = await etcd.call('/v3/kv/compaction', { method: 'POST', body: { revision, physical: true } });
    if (status !== 200) throw new Error(`etcd did not compact: ${JSON.stringify(body)}`);
    return Number(revision);
  }

  /** Starts a Kubernetes controller that watches the API server. It ends with it, and restarts after an outage. */
  runController(name: string, command: readonly string[]): void {
    this.#controllers.set(name, command);
    this.#run(name, command);
  }

  /** Waits until an object exists. @throws after the timeout */
  async waitFor(what: string, path: string): Promise<void> {
    const isThere = async () => (await this.client.call(path).catch(() => undefined))?.status === 200;
    await eventually(what, isThere, { within: startTimeoutMs });
  }

  /** Registers a function to run before the API server ends, in reverse order. */
  beforeEnd(end: () => Promise<void>): void {
    this.#endings.unshift(end);
  }

  /** Ends all processes and deletes the folder. Idempotent. */
  async close(): Promise<void> {
    await this.#noteSecrets();
    for (const end of this.#endings.splice(0)) await end();
    this.client.close();
    // No data is kept, so no graceful shutdown is needed.
    await Promise.all([...this.#children.values()].map((child) => child.stop('SIGKILL')));
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Existing Secrets, where the API server runs. */
  async #noteSecrets(): Promise<void> {
    if (this.#children.get('kube-apiserver')?.end !== undefined) return;
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
    if (known === undefined) throw new Error(`${user} was not passed to startApiServer`);
    return { server, authority: this.authority, token: known, ...(namespace === undefined ? {} : { namespace }) };
  }

  /** Starts a program that ends with the API server. */
  #run(name: string, command: readonly string[]): Child {
    // The programs live a minute or two: less frequent garbage collection saves a sixth of their CPU time, for 100 MB.
    const env = { ...process.env, GOGC: '400' };
    const child = new Child(command, { log: join(this.dir, `${name}.log`), env, cwd: this.dir, wrap: this.#options.place?.wrap });
    this.#children.set(name, child);
    return child;
  }

  #startEtcd(): void {
    const { etcd, peers } = this.#ports;
    const clients = `http://127.0.0.1:${etcd}`;
    this.#run('etcd', [
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
      // If its startup takes longer than half a minute it exits, and must be restarted.
      if (child.end !== undefined) child = this.#runApiServer();
      return false;
    };
    await eventually(() => `kube-apiserver is ready:\n${child.tail()}`, isReady, { within: startTimeoutMs });
  }

  #runApiServer(): Child {
    return this.#run('kube-apiserver', [this.#programs['kube-apiserver'], ...this.#apiServerFlags()]);
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
      // Services of a MediaCluster may have both families; kube-proxy of the machines has IPv4 only.
      `--service-cluster-ip-range=10.96.0.0/16${place ? '' : ',fd00:96::/112'}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.serviceAccountKey}`,
      `--service-account-signing-key-file=${this.serviceAccountKey}`,
      // It would reject a loopback address as an advertised endpoint.
      ...(place ? [] : ['--endpoint-reconciler-type=none']),
      ...(this.#options.serviceAccountAdmission ? [] : ['--disable-admission-plugins=ServiceAccount']),
      ...(this.#options.flags ?? []),
    ];
  }
}

/** A real API server without controllers: CRDs, CEL, server-side apply, watches, RBAC, Leases. Ready in about 4 s. */
export function startApiServer(scope: Scope, options: ApiServerOptions = {}): Promise<ApiServer> {
  return ApiServer.start(scope, options);
}

/** Deletes folders of test processes that were killed. */
function removeLeftFolders(): void {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(folderPrefix))) {
    const pid = Number(/^\d+/.exec(name.slice(folderPrefix.length))?.[0]);
    if (pid <= 0 || isAlive(pid)) continue;
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true, maxRetries: 10 });
    } catch {
      // Its programs may still be writing, or another process deletes it too: the next run deletes the rest.
    }
  }
}
