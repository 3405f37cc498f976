// S3 store: uploads, reads, lists and deletes objects below the prefix of one S3 storage.
import { type FileHandle, open } from 'node:fs/promises';
import { addAbortSignal, Readable } from 'node:stream';
import type { S3Target } from '../../../api/component/s3-target.ts';
import { contentTypeOf } from '../content-types.ts';
import { readBytes } from './file-bytes.ts';
import { abortUploads, multipartUpload, partSizeOf } from './multipart.ts';
import { type ConnectionOptions, S3Connection } from './s3-connection.ts';
import { StorageError } from './s3-errors.ts';

/** `name`: without the prefix of the storage. `modified`: milliseconds since 1970. */
export type StoredObject = { name: string; size: number; modified: number; etag: string };

/** Objects deleted per request, the maximum of S3. */
const removedAtOnce = 1000;
/** Concurrent requests if objects are deleted one by one. */
const singleRemovals = 8;
/** Maximum pages of a thousand listed objects. */
const maxPages = 200;

/** `onSent` is called with the number of uploaded bytes. */
export type S3StoreOptions = ConnectionOptions & { onSent?: (bytes: number) => void };

/** All methods fail with StorageError, or with an error of the local disk. */
export class S3Store {
  readonly #connection: S3Connection;
  readonly #onSent: (bytes: number) => void;

  constructor(place: S3Target, options: S3StoreOptions = {}) {
    this.#connection = new S3Connection(place, options);
    this.#onSent = options.onSent ?? (() => {});
  }

  /** Uploads a file in its current state, in parts if it is large. @returns its size */
  async putFile(name: string, path: string, signal: AbortSignal): Promise<number> {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      if (size <= partSizeOf(size)) await this.#put(name, { file, start: 0, length: size }, signal);
      else
        await multipartUpload(this.#connection, { key: name, file, size, contentType: contentTypeOf(name), signal, onSent: this.#onSent });
      return size;
    } finally {
      await file.close();
    }
  }

  /** Uploads a range of a file. */
  async putPart(name: string, path: string, range: { start: number; length: number }, signal: AbortSignal): Promise<void> {
    const file = await open(path, 'r');
    try {
      await this.#put(name, { file, ...range }, signal);
    } finally {
      await file.close();
    }
  }

  async putText(name: string, text: string, signal: AbortSignal): Promise<void> {
    const body = Buffer.from(text);
    await this.#connection.call(
      (client, options) => client.putObject({ ...this.#address(name), Body: body, ContentType: contentTypeOf(name) }, options),
      { signal, size: body.length },
    );
    this.#onSent(body.length);
  }

  /** @returns undefined if it does not exist. */
  async head(name: string, signal: AbortSignal, deadline?: number): Promise<StoredObject | undefined> {
    try {
      const { ContentLength, LastModified, ETag } = await this.#connection.call(
        (client, options) => client.headObject(this.#address(name), options),
        { signal, reads: true, ...(deadline !== undefined && { deadline }) },
      );
      return { name, size: ContentLength ?? 0, modified: LastModified?.getTime() ?? 0, etag: ETag ?? '' };
    } catch (error) {
      if (error instanceof StorageError && error.fault === 'missing') return undefined;
      throw error;
    }
  }

  /**
   * Reads a range of an object until `signal` is aborted. The caller must read the stream to its end or destroy it. `deadline`: timeout of
   * the first byte in milliseconds.
   */
  async read(name: string, range: { start: number; end: number } | undefined, signal: AbortSignal, deadline: number): Promise<Readable> {
    const Range = range && `bytes=${range.start}-${range.end}`;
    const { Body } = await this.#connection.call(
      (client, options) => client.getObject({ ...this.#address(name), ...(Range !== undefined && { Range }) }, options),
      { signal, deadline, reads: true },
    );
    if (!(Body instanceof Readable)) throw new StorageError('failed', 'S3 responded without a body');
    return addAbortSignal(signal, Body);
  }

  /** Objects whose names have this prefix, at most 200,000, sorted by name. */
  async list(below: string, signal: AbortSignal, deadline?: number): Promise<StoredObject[]> {
    const found: StoredObject[] = [];
    for await (const { Contents = [] } of this.#pages(below, undefined, signal, deadline)) {
      for (const { Key, Size = 0, LastModified, ETag = '' } of Contents) {
        if (Key === undefined) continue;
        found.push({ name: this.#connection.nameOf(Key), size: Size, modified: LastModified?.getTime() ?? 0, etag: ETag });
      }
    }
    return found;
  }

  /** Top-level folders below the prefix of the storage. */
  async folders(signal: AbortSignal, deadline: number): Promise<string[]> {
    const found: string[] = [];
    for await (const { CommonPrefixes = [] } of this.#pages('', '/', signal, deadline)) {
      for (const { Prefix } of CommonPrefixes) if (Prefix !== undefined) found.push(this.#connection.nameOf(Prefix).slice(0, -1));
    }
    return found;
  }

  async remove(names: readonly string[], signal: AbortSignal): Promise<void> {
    for (let at = 0; at < names.length; at += removedAtOnce) {
      const some = names.slice(at, at + removedAtOnce);
      try {
        await this.#removeTogether(some, signal);
      } catch (error) {
        // Not every server supports this request or its checksum.
        if (!(error instanceof StorageError) || error.fault !== 'refused') throw error;
        await this.#removeSingly(some, signal);
      }
    }
  }

  /** Aborts multipart uploads below a name. */
  abortUploads(below: string, signal: AbortSignal): Promise<void> {
    return abortUploads(this.#connection, below, signal);
  }

  close(): void {
    this.#connection.close();
  }

  async #put(
    name: string,
    { file, start, length }: { file: FileHandle; start: number; length: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#connection.call(
      (client, options) => {
        const Body = length === 0 ? Buffer.alloc(0) : readBytes(file, start, length);
        const put = { ...this.#address(name), Body, ContentLength: length, ContentType: contentTypeOf(name) };
        return client.putObject(put, options);
      },
      { signal, size: length },
    );
    this.#onSent(length);
  }

  async *#pages(below: string, Delimiter: string | undefined, signal: AbortSignal, deadline: number | undefined) {
    const Prefix = this.#connection.keyOf(below);
    let token: string | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const ContinuationToken = token;
      const answer = await this.#connection.call(
        (client, options) =>
          client.listObjectsV2(
            {
              Bucket: this.#connection.bucket,
              Prefix,
              ...(Delimiter !== undefined && { Delimiter }),
              ...(ContinuationToken !== undefined && { ContinuationToken }),
            },
            options,
          ),
        { signal, reads: true, ...(deadline !== undefined && { deadline }) },
      );
      yield answer;
      if (!answer.IsTruncated || answer.NextContinuationToken === undefined) return;
      token = answer.NextContinuationToken;
    }
  }

  async #removeTogether(names: readonly string[], signal: AbortSignal): Promise<void> {
    const Objects = names.map((name) => ({ Key: this.#connection.keyOf(name) }));
    const { Errors = [] } = await this.#connection.call(
      (client, options) => client.deleteObjects({ Bucket: this.#connection.bucket, Delete: { Objects, Quiet: true } }, options),
      { signal },
    );
    const error = Errors.find(({ Code }) => Code !== 'NoSuchKey');
    if (error) throw new StorageError('failed', 'S3 did not delete all objects');
  }

  async #removeSingly(names: readonly string[], signal: AbortSignal): Promise<void> {
    for (let at = 0; at < names.length; at += singleRemovals) {
      const some = names
        .slice(at, at + singleRemovals)
        .map((name) => this.#connection.call((client, options) => client.deleteObject(this.#address(name), options), { signal }));
      await Promise.all(some);
    }
  }

  #address(name: string): { Bucket: string; Key: string } {
    return { Bucket: this.#connection.bucket, Key: this.#connection.keyOf(name) };
  }
}
