// Spec of a file component: validates its options, the path and the format of the file.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileDefaults, fileOptionsSchema } from '../../../api/component/file.ts';
import { formatValue, invalidFieldError } from '../../../api/derive/validation-messages.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { VideoCodec } from '../../../api/room.ts';
import type { ComponentSpec } from '../../rooms/interfaces.ts';
import { resolvePathInside } from '../../storage/safe-paths.ts';
import { MediaFileError } from './file-error.ts';
import { FileRunner, type MediaFile } from './file-runner.ts';
import { AnnexBSplitter, isConstrainedBaseline, profileLevelId } from './h264.ts';
import { OggOpusReader } from './ogg.ts';

/** Leading bytes in which the format must be detected. */
const probeSize = 1024 * 1024;

export type FileContext = {
  /** Absolute path of the resources directory. */
  resources: string;
  roomId: string;
  videoCodec: VideoCodec | null;
};

/** @throws ServiceError if an option or the file is invalid */
export async function createFileSpec(options: unknown, { resources, roomId, videoCodec }: FileContext): Promise<ComponentSpec> {
  const parsed = fileOptionsSchema.safeParse(options);
  if (!parsed.success) throw invalidFieldError(parsed.error, options, 'options', 'options');
  const { filePath } = parsed.data;
  const extension = extname(filePath);
  if (extension !== '.ogg' && extension !== '.h264')
    throw refuse(`Unsupported file type: only .ogg and .h264 are supported, got: ${formatValue(filePath)}`);
  const isVideo = extension === '.h264';
  if (!isVideo && typeof parsed.data.framerate === 'number') throw refuse('framerate is not allowed for audio files', 'framerate');
  if (isVideo && videoCodec !== null && videoCodec !== 'h264') throw refuse(`Incompatible video codec enforced in room ${roomId}`);
  const path = await resolvePathInside(join(resources, 'file_component_sources'), filePath).catch((error: unknown) => {
    throw error instanceof ServiceError ? refuse('Invalid file path: it has to stay inside file_component_sources') : error;
  });
  const file = path === undefined ? undefined : await openFile(path);
  if (path === undefined || file === undefined) throw new ServiceError('not_found', 'File not found');
  try {
    await (isVideo ? probeH264(file) : probeOpus(file));
  } catch (error) {
    throw error instanceof MediaFileError ? refuse(error.message) : error;
  } finally {
    await file.close();
  }
  const framerate = isVideo ? (parsed.data.framerate ?? fileDefaults.framerate) : null;
  const media: MediaFile = { open: () => openFile(path), framerate };
  return { type: 'file', properties: { filePath, framerate }, open: (host) => new FileRunner(media, host) };
}

/** Undefined if it is not a readable regular file. Non-blocking, because opening a pipe would wait for a writer. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  if ((await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}

async function probeOpus(file: FileHandle): Promise<void> {
  const reader = new OggOpusReader();
  for await (const chunk of beginning(file)) {
    if (reader.push(chunk).length > 0 || reader.found) return;
  }
  throw new MediaFileError('Unsupported file: no Opus stream in an Ogg container');
}

async function probeH264(file: FileHandle): Promise<void> {
  const splitter = new AnnexBSplitter();
  const check = (nals: readonly Buffer[]): boolean => {
    const id = nals.map(profileLevelId).find((each) => each !== undefined);
    if (id === undefined) return false;
    if (isConstrainedBaseline(id)) return true;
    throw new MediaFileError(`Unsupported file: its profile-level-id ${id} is not the constrained baseline profile`);
  };
  for await (const chunk of beginning(file)) if (check(splitter.push(chunk))) return;
  if (!check(splitter.end())) throw new MediaFileError('Unsupported file: no H.264 with start codes (Annex B)');
}

async function* beginning(file: FileHandle): AsyncGenerator<Buffer> {
  const step = 64 * 1024;
  for (let position = 0; position < probeSize; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(step), 0, step, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function refuse(message: string, option = 'filePath'): ServiceError {
  return new ServiceError('bad_request', message, { field: `options.${option}` });
}
