// The calls to one S3 storage: with its keys, each with a deadline, its errors as sentences.
import { S3Client } from '@aws-sdk/client-s3';
import { guardedAgents } from '../../common/guarded-agents.ts';
import { Timer } from '../../common/timer.ts';
import type { S3Target } from '../../rooms/shapes/component-options.ts';
import { isConnectionReset, storageError } from './s3-errors.ts';

/** Milliseconds to connect, and without a byte either way. */
const connectTimeoutMs = 10_000;
const idleTimeoutMs = 60_000;
/** Milliseconds of a call without a body; one with a body may take longer by its size at this rate. */
const requestTimeoutMs = 60_000;
const slowestBytesPerMillisecond = 16;

const nothing = () => {};
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

export type CallOptions = {
  signal: AbortSignal;
  /** Bytes of the body that goes with it. */
  size?: number;
  /** Milliseconds, in place of what the size gives. */
  deadline?: number;
  /** It only reads: asked once more where the connection ends without an answer. */
  reads?: boolean;
};

export type ConnectionOptions = {
  /** Milliseconds that a body may rest, e.g. because whoever reads it does. */
  idle?: number;
  maxSockets?: number;
  /** Whether it may be at a private address; left out: it may, since the node's own configuration names it. */
  allowPrivate?: () => boolean;
};

export class S3Connection {
  readonly bucket: string;
  readonly #client: S3Client;
  readonly #prefix: string;

  constructor({ bucket, region, endpoint, accessKeyId, secretAccessKey, pathPrefix }: S3Target, options: ConnectionOptions = {}) {
    this.bucket = bucket;
    this.#prefix = pathPrefix === undefined || pathPrefix === '' ? '' : `${pathPrefix}/`;
    const agent = { keepAlive: true, maxSockets: options.maxSockets ?? 50 };
    const agents = guardedAgents({ allowPrivate: options.allowPrivate ?? (() => true) }, agent);
    this.#client = new S3Client({
      // S3's own default, which others take too.
      region: region ?? 'us-east-1',
      credentials: { accessKeyId, secretAccessKey },
      ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
      // Bodies come from disk and cannot be read again: whoever calls tries again.
      maxAttempts: 1,
      // Without one it writes to the console.
      logger: silent,
      // Checksums in trailers are Amazon's own; others refuse them.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: connectTimeoutMs,
        socketTimeout: options.idle ?? idleTimeoutMs,
        httpAgent: agents.http,
        httpsAgent: agents.https,
      },
    });
  }

  /** The whole key of an object: the prefix as it was given, and this. */
  keyOf(name: string): string {
    return this.#prefix + name;
  }

  /** @returns the name of an object with this key, without the prefix. */
  nameOf(key: string): string {
    return key.slice(this.#prefix.length);
  }

  /** @throws StorageError, or what the own disk throws */
  async call<Answer>(
    run: (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<Answer>,
    options: CallOptions,
  ): Promise<Answer> {
    const { signal, size = 0, deadline = requestTimeoutMs + size / slowestBytesPerMillisecond, reads = false } = options;
    signal.throwIfAborted();
    const late = new AbortController();
    // AbortSignal.timeout() would stay until its time, however soon the answer is there.
    const timer = new Timer(deadline, () => late.abort());
    const attempt = () => run(this.#client, { abortSignal: AbortSignal.any([signal, late.signal]) });
    try {
      return await attempt().catch((error: unknown) => {
        // Kept connections are closed by the other side at any time, also while a call goes out.
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
    this.#client.destroy();
  }
}
