// S3 connection: requests to one S3 storage with its keys, timeouts, and readable errors.
import type { S3, S3ClientConfig } from '@aws-sdk/client-s3';
import type { S3Target } from '../../../api/component/s3-target.ts';
import { guardedAgents } from '../../common/guarded-agents.ts';
import { Timer } from '../../common/timer.ts';
import { isConnectionReset, storageError } from './s3-errors.ts';

/** Milliseconds to connect, and without any transfer. */
const connectTimeoutMs = 10_000;
const idleTimeoutMs = 60_000;
/** Milliseconds for a request without a body; a body adds time by its size at this rate. */
const requestTimeoutMs = 60_000;
const slowestBytesPerMillisecond = 16;

const nothing = () => {};
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

export type CallOptions = {
  signal: AbortSignal;
  /** Bytes of the request body. */
  size?: number;
  /** Timeout in milliseconds instead of the one by size. */
  deadline?: number;
  /** A read-only request: repeated once if the connection closes without a response. */
  reads?: boolean;
};

export type ConnectionOptions = {
  /** Milliseconds that a body may stall, for example because its reader is slow. */
  idle?: number;
  maxSockets?: number;
  /** True if the storage may have a private address; default: true, because the configuration of the node names it. */
  allowPrivate?: () => boolean;
};

export class S3Connection {
  readonly bucket: string;
  readonly #config: S3ClientConfig;
  readonly #prefix: string;
  #client: Promise<S3> | undefined;

  constructor({ bucket, region, endpoint, accessKeyId, secretAccessKey, pathPrefix }: S3Target, options: ConnectionOptions = {}) {
    this.bucket = bucket;
    this.#prefix = pathPrefix === undefined || pathPrefix === '' ? '' : `${pathPrefix}/`;
    const agent = { keepAlive: true, maxSockets: options.maxSockets ?? 50 };
    const agents = guardedAgents({ allowPrivate: options.allowPrivate ?? (() => true) }, agent);
    this.#config = {
      // The default of S3, which other servers accept too.
      region: region ?? 'us-east-1',
      credentials: { accessKeyId, secretAccessKey },
      ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
      // Bodies are read from disk once, so the caller repeats the request.
      maxAttempts: 1,
      // Without a logger it writes to the console.
      logger: silent,
      // Checksums in trailers are specific to Amazon; other servers reject them.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: connectTimeoutMs,
        socketTimeout: options.idle ?? idleTimeoutMs,
        httpAgent: agents.http,
        httpsAgent: agents.https,
      },
    };
  }

  /** The key of an object: the prefix, unchanged, and the name. */
  keyOf(name: string): string {
    return this.#prefix + name;
  }

  /** @returns the name of the object with this key, without the prefix. */
  nameOf(key: string): string {
    return key.slice(this.#prefix.length);
  }

  /** @throws StorageError, or an error of the local disk */
  async call<Answer>(run: (client: S3, options: { abortSignal: AbortSignal }) => Promise<Answer>, options: CallOptions): Promise<Answer> {
    const { signal, size = 0, deadline = requestTimeoutMs + size / slowestBytesPerMillisecond, reads = false } = options;
    this.#client ??= createClient(this.#config);
    const client = await this.#client;
    signal.throwIfAborted();
    const late = new AbortController();
    // AbortSignal.timeout() would stay alive after an early response.
    const timer = new Timer(deadline, () => late.abort());
    const attempt = () => run(client, { abortSignal: AbortSignal.any([signal, late.signal]) });
    try {
      return await attempt().catch((error: unknown) => {
        // The server may close idle connections at any time, even while a request is sent.
        if (reads && isConnectionReset(error)) return attempt();
        throw error;
      });
    } catch (error) {
      signal.throwIfAborted();
      throw storageError(error, this.bucket);
    } finally {
      timer.stop();
    }
  }

  close(): void {
    void this.#client?.then((client) => client.destroy());
  }
}

/** The SDK is loaded with the first request: it is a tenth of the start and of the modules of a node, and most nodes have no S3 storage. */
async function createClient(config: S3ClientConfig): Promise<S3> {
  const sdk = await import('@aws-sdk/client-s3');
  return new sdk.S3(config);
}
