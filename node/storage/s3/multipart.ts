// Multipart upload of large files. Parts of a failed attempt are reused, even after a restart.
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { readBytes } from './file-bytes.ts';
import type { S3Connection } from './s3-connection.ts';

/** Part size in bytes: S3 accepts 5 MiB and more, and up to 10,000 parts. */
const smallestPart = 8 * 1024 * 1024;
const maxParts = 9000;
/** Maximum pages of uploads and parts. */
const maxPages = 50;

type Part = { PartNumber: number; ETag: string };
type LargeFile = { key: string; file: FileHandle; size: number; contentType: string; signal: AbortSignal; onSent: (bytes: number) => void };

export function partSizeOf(size: number): number {
  return Math.max(smallestPart, Math.ceil(size / maxParts));
}

/** @throws StorageError, or an error of the local disk */
export async function multipartUpload(connection: S3Connection, large: LargeFile): Promise<void> {
  const { key, file, size, contentType, signal, onSent } = large;
  const Bucket = connection.bucket;
  const Key = connection.keyOf(key);
  const partSize = partSizeOf(size);
  const { uploadId, parts } = await takeUp(connection, Key, { file, size, partSize, contentType, signal });
  for (let number = 1; (number - 1) * partSize < size; number += 1) {
    if (parts.has(number)) continue;
    const start = (number - 1) * partSize;
    const length = Math.min(partSize, size - start);
    const ContentMD5 = (await digestOf(file, start, length)).toString('base64');
    const { ETag } = await connection.call(
      (client, options) => {
        const Body = readBytes(file, start, length);
        return client.uploadPart({ Bucket, Key, UploadId: uploadId, PartNumber: number, Body, ContentLength: length, ContentMD5 }, options);
      },
      { signal, size: length },
    );
    parts.set(number, ETag ?? '');
    onSent(length);
  }
  const Parts: Part[] = [...parts].sort(([one], [other]) => one - other).map(([PartNumber, ETag]) => ({ PartNumber, ETag }));
  await connection.call(
    (client, options) => client.completeMultipartUpload({ Bucket, Key, UploadId: uploadId, MultipartUpload: { Parts } }, options),
    // Some servers assemble the parts before they respond.
    { signal, size },
  );
}

/** Aborts multipart uploads below a name, because incomplete parts are billed. */
export async function abortUploads(connection: S3Connection, below: string, signal: AbortSignal): Promise<void> {
  for (const { key, uploadId } of await uploadsBelow(connection, connection.keyOf(below), signal))
    await abort(connection, key, uploadId, signal);
}

type Wanted = { file: FileHandle; size: number; partSize: number; contentType: string; signal: AbortSignal };

/** Resumes an upload of this key with those of its parts that match the file, or starts a new one. */
async function takeUp(
  connection: S3Connection,
  Key: string,
  { file, size, partSize, contentType, signal }: Wanted,
): Promise<{ uploadId: string; parts: Map<number, string> }> {
  const Bucket = connection.bucket;
  for (const { key, uploadId } of await uploadsBelow(connection, Key, signal)) {
    if (key !== Key) continue;
    const parts = await partsOf(connection, Key, uploadId, signal);
    const lengthOf = (number: number) => Math.min(partSize, size - (number - 1) * partSize);
    if (parts.length > 0 && parts.every(({ number, length }) => length === lengthOf(number))) {
      const whole = new Map<number, string>();
      for (const { number, length, etag } of parts) {
        // A truncated part may be listed as complete. If an ETag is not an MD5 (customer-managed encryption key), the part is sent again.
        const digest = await digestOf(file, (number - 1) * partSize, length);
        if (etag.replaceAll('"', '') === digest.toString('hex')) whole.set(number, etag);
      }
      return { uploadId, parts: whole };
    }
    await abort(connection, Key, uploadId, signal);
  }
  const { UploadId } = await connection.call(
    (client, options) => client.createMultipartUpload({ Bucket, Key, ContentType: contentType }, options),
    { signal },
  );
  return { uploadId: UploadId ?? '', parts: new Map() };
}

/** MD5, as in Content-MD5 and in the ETag of a part. */
async function digestOf(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const hash = createHash('md5');
  for await (const chunk of readBytes(file, start, length)) hash.update(chunk as Buffer);
  return hash.digest();
}

async function uploadsBelow(connection: S3Connection, Prefix: string, signal: AbortSignal): Promise<{ key: string; uploadId: string }[]> {
  const Bucket = connection.bucket;
  const found: { key: string; uploadId: string }[] = [];
  let marker: { KeyMarker?: string; UploadIdMarker?: string } = {};
  for (let page = 0; page < maxPages; page += 1) {
    const at = marker;
    const answer = await connection.call((client, options) => client.listMultipartUploads({ Bucket, Prefix, ...at }, options), { signal });
    for (const { Key, UploadId } of answer.Uploads ?? [])
      if (Key !== undefined && UploadId !== undefined) found.push({ key: Key, uploadId: UploadId });
    if (!answer.IsTruncated || answer.NextKeyMarker === undefined) break;
    marker = {
      KeyMarker: answer.NextKeyMarker,
      ...(answer.NextUploadIdMarker !== undefined && { UploadIdMarker: answer.NextUploadIdMarker }),
    };
  }
  // Some servers treat the prefix as a hint only.
  return found.filter(({ key }) => key.startsWith(Prefix));
}

async function partsOf(
  connection: S3Connection,
  Key: string,
  UploadId: string,
  signal: AbortSignal,
): Promise<{ number: number; length: number; etag: string }[]> {
  const Bucket = connection.bucket;
  const found: { number: number; length: number; etag: string }[] = [];
  let marker: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const at = marker;
    const answer = await connection.call(
      (client, options) => client.listParts({ Bucket, Key, UploadId, ...(at !== undefined && { PartNumberMarker: at }) }, options),
      { signal },
    );
    for (const { PartNumber, Size, ETag } of answer.Parts ?? []) {
      if (PartNumber !== undefined && Size !== undefined && ETag !== undefined)
        found.push({ number: PartNumber, length: Size, etag: ETag });
    }
    if (!answer.IsTruncated || answer.NextPartNumberMarker === undefined) break;
    marker = answer.NextPartNumberMarker;
  }
  return found;
}

async function abort(connection: S3Connection, Key: string, UploadId: string, signal: AbortSignal): Promise<void> {
  await connection.call((client, options) => client.abortMultipartUpload({ Bucket: connection.bucket, Key, UploadId }, options), {
    signal,
  });
}
