// Connection to the API server: authentication of KubeConfig with one dispatcher that keeps connections alive.
import { createHash } from 'node:crypto';
import { type Cluster, HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { clientError, type KubeError } from './kube-error.ts';

export type ApiServerAccess = { dispatcher: Dispatcher; headers: Record<string, string> };
type DispatcherOptions = ReturnType<KubeConfig['createDispatcherOptions']>;

/** TTL of credentials, after which their file is read or their plugin is run again. */
const defaultFreshMs = 10_000;
/** Idle timeout of connections: longer than the interval between two polls of an idle operator. */
const keepAliveMs = 90_000;
/** HTTP/1.1, so that each watch has a separate connection and a stalled watch does not block other requests. */
const connections = { allowH2: false, keepAliveTimeout: keepAliveMs, bodyTimeout: 0, headersTimeout: 0 } as const;

/** KubeConfig creates a dispatcher, and so a TLS connection, for each request. This class captures its options instead. */
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
   * Loads a kubeconfig file, or without one the service account of the Pod.
   * @throws KubeError 'NoCredentials' with a message about the missing part
   */
  static load(kubeconfig: string | undefined, freshMs = defaultFreshMs): ApiServerConnection {
    const config = new WatchedConfig();
    try {
      if (kubeconfig === undefined) config.loadFromCluster();
      else config.loadFromFile(kubeconfig);
    } catch (error) {
      throw noCredentials(`Could not read kubeconfig ${kubeconfig ?? ''}${because(error)}.`);
    }
    const cluster = config.getCurrentCluster();
    if (kubeconfig === undefined && (cluster?.server ?? '').includes('//undefined'))
      throw noCredentials('No kubeconfig was given, and this process does not run in a Pod.');
    if (!cluster || !URL.canParse(cluster.server)) throw noCredentials(`Kubeconfig ${kubeconfig ?? ''} has no current cluster.`);
    return new ApiServerConnection(config, cluster, freshMs);
  }

  /** Scheme, host and port. */
  get origin(): string {
    return new URL(this.#cluster.server).origin;
  }

  /** Path before `/api`, as with a proxy, without a trailing slash. */
  get prefix(): string {
    return new URL(this.#cluster.server).pathname.replace(/\/+$/, '');
  }

  /** Headers and dispatcher of a request. Concurrent callers share one refresh of the credentials. */
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

  /** Closes every connection, also those in use. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#dispatcher?.destroy();
  }

  async #renew(): Promise<ApiServerAccess> {
    const context = new RequestContext(this.#cluster.server, HttpMethod.GET);
    try {
      await this.#config.applySecurityAuthentication(context);
    } catch (error) {
      // The stderr of a plugin may contain a token, so it is not part of the message.
      throw noCredentials(`Could not load credentials for the API server${because(error)}.`);
    }
    const theirs = context.getDispatcher();
    const options = this.#config.options;
    const fingerprint = createHash('sha256').update(JSON.stringify(options)).digest('hex');
    // After a change of CA or client certificate new requests use new connections; running requests finish.
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
  return clientError('NoCredentials', message);
}

/** The code of a system error as ` (ENOENT)`. */
function because(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' ? ` (${code})` : '';
}
