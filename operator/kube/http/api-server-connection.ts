// Where the API server is and how to get in: KubeConfig's authentication, but one dispatcher with lasting connections.
import { createHash } from 'node:crypto';
import { type Cluster, HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { KubeError } from './kube-error.ts';

export type ApiServerAccess = { dispatcher: Dispatcher; headers: Record<string, string> };
type DispatcherOptions = ReturnType<KubeConfig['createDispatcherOptions']>;

/** How old a token or certificate may be before its file is read, its plugin asked again. */
const defaultFreshMs = 10_000;
/** Connections without work are kept so long: longer than the pause between two polls of an idle operator. */
const keepAliveMs = 90_000;
/** HTTP/1.1: a watch has a connection of its own then, and one that stalls holds up nobody else. */
const connections = { allowH2: false, keepAliveTimeout: keepAliveMs, bodyTimeout: 0, headersTimeout: 0 } as const;

/** KubeConfig makes a dispatcher, hence a TLS connection, for each request: this one tells by what options it would. */
class WatchedConfig extends KubeConfig {
  options: DispatcherOptions = { type: 'none' };

  override createDispatcherOptions(...input: Parameters<KubeConfig['createDispatcherOptions']>): DispatcherOptions {
    this.options = super.createDispatcherOptions(...input);
    return this.options;
  }
}

export class ApiServerConnection {
  readonly #config: WatchedConfig;
  readonly #cluster: Cluster;
  readonly #freshMs: number;
  #dispatcher: Dispatcher | undefined;
  #fingerprint = '';
  #access: { at: number; value: Promise<ApiServerAccess> } | undefined;
  #closed = false;

  private constructor(config: WatchedConfig, cluster: Cluster, freshMs: number) {
    this.#config = config;
    this.#cluster = cluster;
    this.#freshMs = freshMs;
  }

  /**
   * By a kubeconfig file, or without one by the service account of the Pod.
   * @throws KubeError 'NoCredentials' with the sentence that says what is missing
   */
  static load(kubeconfig: string | undefined, freshMs = defaultFreshMs): ApiServerConnection {
    const config = new WatchedConfig();
    try {
      if (kubeconfig === undefined) config.loadFromCluster();
      else config.loadFromFile(kubeconfig);
    } catch (error) {
      throw noCredentials(`The kubeconfig ${kubeconfig ?? ''} cannot be read${because(error)}.`);
    }
    const cluster = config.getCurrentCluster();
    if (kubeconfig === undefined && (cluster?.server ?? '').includes('//undefined'))
      throw noCredentials('No kubeconfig was given, and this process runs in no Pod of a cluster.');
    if (!cluster || !URL.canParse(cluster.server)) throw noCredentials(`The kubeconfig ${kubeconfig ?? ''} names no current cluster.`);
    return new ApiServerConnection(config, cluster, freshMs);
  }

  /** Scheme, host and port. */
  get origin(): string {
    return new URL(this.#cluster.server).origin;
  }

  /** What comes before `/api`, as with a proxy in front; without a slash at its end. */
  get prefix(): string {
    return new URL(this.#cluster.server).pathname.replace(/\/+$/, '');
  }

  /** Headers and dispatcher of a request. One caller reads files and runs plugins, the others wait for it. */
  access(): Promise<ApiServerAccess> {
    const now = performance.now();
    if (this.#access && now - this.#access.at < this.#freshMs) return this.#access.value;
    const access = { at: now, value: this.#renew() };
    this.#access = access;
    access.value.catch(() => {
      if (this.#access === access) this.#access = undefined;
    });
    return access.value;
  }

  /** Ends every connection, also those in use. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#dispatcher?.destroy();
  }

  async #renew(): Promise<ApiServerAccess> {
    const context = new RequestContext(this.#cluster.server, HttpMethod.GET);
    try {
      await this.#config.applySecurityAuthentication(context);
    } catch (error) {
      // A plugin says on its stderr what it likes, a token for example: its text stays out.
      throw noCredentials(`The credentials for the API server cannot be had${because(error)}.`);
    }
    const theirs = context.getDispatcher();
    const options = this.#config.options;
    const fingerprint = createHash('sha256').update(JSON.stringify(options)).digest('hex');
    // Another CA or client certificate: new calls take new connections, those under way end in peace.
    if (this.#dispatcher === undefined || fingerprint !== this.#fingerprint) {
      const old = this.#dispatcher;
      this.#fingerprint = fingerprint;
      this.#dispatcher = options.type === 'socks' && theirs ? theirs : makeDispatcher(options);
      old?.close().catch(() => {});
    }
    if (theirs && theirs !== this.#dispatcher) theirs.destroy().catch(() => {});
    if (this.#closed) await this.#dispatcher.destroy();
    return { dispatcher: this.#dispatcher, headers: { ...context.getHeaders() } };
  }
}

function makeDispatcher(options: DispatcherOptions): Dispatcher {
  if (options.type === 'proxy')
    return new ProxyAgent({ ...connections, uri: options.uri, requestTls: options.requestTls, connect: options.connect });
  return new Agent({ ...connections, connect: options.type === 'agent' ? { ...options.connect, timeout: 5000 } : { timeout: 5000 } });
}

function noCredentials(message: string): KubeError {
  return new KubeError({ status: 0, reason: 'NoCredentials', message });
}

/** ` (ENOENT)`: the code of a system error says enough. */
function because(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' ? ` (${code})` : '';
}
