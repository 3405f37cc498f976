// Large files to S3 in parts: what a try that failed has put there already is not sent again, not even after a restart.
import type { FileHandle } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { readBytes } from './file-bytes.ts';
import type { S3Connection } from './s3-connection.ts';

/** Bytes of a part: S3 takes from 5 MiB and up to 10,000 parts. */
const smallestPart = 8 * 1024 * 1024;
const mostParts = 9000;
/** Pages of uploads and parts that are looked at. */
const maxPages = 50;

type Part = { PartNumber: number; ETag: string };
type LargeFile = { key: string; file: FileHandle; size: number; contentType: string; signal: AbortSignal; onSent: (bytes: number) => void };

export function partSizeOf(size: number): number {
  return Math.max(smallestPart, Math.ceil(size / mostParts));
}

/** @throws StorageError, or what the own disk throws */
export async function putInParts(connection: S3Connection, large: LargeFile): Promise<void> {
  const { key, file, size, contentType, signal, onSent } = large;
  const Bucket = connection.bucket;
  const Key = connection.keyOf(key);
  const partSize = partSizeOf(size);
  const { uploadId, parts } = await takeUp(connection, Key, { size, partSize, contentType, signal });
  for (let number = 1; (number - 1) * partSize < size; number += 1) {
    if (parts.has(number)) continue;
    const start = (number - 1) * partSize;
    const length = Math.min(partSize, size - start);
    const { ETag } = await connection.call(
      (client, options) => {
        const Body = readBytes(file, start, length);
        return client.send(
          new UploadPartCommand({ Bucket, Key, UploadId: uploadId, PartNumber: number, Body, ContentLength: length }),
          options,
        );
      },
      { signal, size: length },
    );
    parts.set(number, ETag ?? '');
    onSent(length);
  }
  const Parts: Part[] = [...parts].sort(([one], [other]) => one - other).map(([PartNumber, ETag]) => ({ PartNumber, ETag }));
  await connection.call(
    (client, options) =>
      client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId: uploadId, MultipartUpload: { Parts } }), options),
    // Some put the parts together before they answer.
    { signal, size },
  );
}

/** Ends what is being uploaded in parts below a name, so that nobody pays for it. */
export async function abortUploads(connection: S3Connection, below: string, signal: AbortSignal): Promise<void> {
  for (const { key, uploadId } of await uploadsBelow(connection, connection.keyOf(below), signal))
    await abort(connection, key, uploadId, signal);
}

type Wanted = { size: number; partSize: number; contentType: string; signal: AbortSignal };

/** An upload of this key that an earlier try left, with its parts that fit, or a new one. */
async function takeUp(
  connection: S3Connection,
  Key: string,
  { size, partSize, contentType, signal }: Wanted,
): Promise<{ uploadId: string; parts: Map<number, string> }> {
  const Bucket = connection.bucket;
  for (const { key, uploadId } of await uploadsBelow(connection, Key, signal)) {
    if (key !== Key) continue;
    const parts = await partsOf(connection, Key, uploadId, signal);
    const lengthOf = (number: number) => Math.min(partSize, size - (number - 1) * partSize);
    if (parts.length > 0 && parts.every(({ number, length }) => length === lengthOf(number))) {
      return { uploadId, parts: new Map(parts.map(({ number, etag }) => [number, etag])) };
    }
    await abort(connection, Key, uploadId, signal);
  }
  const { UploadId } = await connection.call(
    (client, options) => client.send(new CreateMultipartUploadCommand({ Bucket, Key, ContentType: contentType }), options),
    { signal },
  );
  return { uploadId: UploadId ?? '', parts: new Map() };
}

async function uploadsBelow(connection: S3Connection, Prefix: string, signal: AbortSignal): Promise<{ key: string; uploadId: string }[]> {
  const Bucket = connection.bucket;
  const found: { key: string; uploadId: string }[] = [];
  let marker: { KeyMarker?: string; UploadIdMarker?: string } = {};
  for (let page = 0; page < maxPages; page += 1) {
    const at = marker;
    const answer = await connection.call(
      (client, options) => client.send(new ListMultipartUploadsCommand({ Bucket, Prefix, ...at }), options),
      { signal },
    );
    for (const { Key, UploadId } of answer.Uploads ?? [])
      if (Key !== undefined && UploadId !== undefined) found.push({ key: Key, uploadId: UploadId });
    if (!answer.IsTruncated || answer.NextKeyMarker === undefined) break;
    marker = {
      KeyMarker: answer.NextKeyMarker,
      ...(answer.NextUploadIdMarker !== undefined && { UploadIdMarker: answer.NextUploadIdMarker }),
    };
  }
  // Some take a prefix for no more than a hint.
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
      (client, options) =>
        client.send(new ListPartsCommand({ Bucket, Key, UploadId, ...(at !== undefined && { PartNumberMarker: at }) }), options),
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
  await connection.call(
    (client, options) => client.send(new AbortMultipartUploadCommand({ Bucket: connection.bucket, Key, UploadId }), options),
    { signal },
  );
}
