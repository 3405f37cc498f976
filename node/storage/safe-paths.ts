// Names from outside become paths below a folder, or nothing: resolved by real path, so that no link leads out either.
import { realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { ServiceError } from '../common/errors.ts';

/** What the file system says of names that lead nowhere. */
const nowhere = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);

/**
 * The real path of what has this name right in a folder, which may be a link that stays in the folder.
 * @returns undefined where there is nothing.
 * @throws ServiceError `bad_request` for what is no plain name, and for a link that leaves the folder.
 */
export async function resolveFileInside(folder: string, name: string): Promise<string | undefined> {
  if (!isPlainName(name)) throw new ServiceError('bad_request', 'Names of files may not contain slashes and may not be . or ..');
  const base = await realPathOf(folder);
  if (base === undefined) return undefined;
  const path = await realPathOf(join(base, name));
  if (path !== undefined && !path.startsWith(base.endsWith(sep) ? base : base + sep)) {
    throw new ServiceError('bad_request', 'This name leads out of its folder');
  }
  return path;
}

/**
 * As findInside, for a path of plain names.
 * @throws ServiceError `bad_request` for everything else, and for links that leave the folder.
 */
export async function resolvePathInside(folder: string, path: string): Promise<string | undefined> {
  const names = path.split('/');
  if (!names.every(isPlainName)) throw new ServiceError('bad_request', 'This path leads out of its folder');
  const base = await realPathOf(folder);
  if (base === undefined) return undefined;
  const real = await realPathOf(join(base, ...names));
  if (real !== undefined && !real.startsWith(base.endsWith(sep) ? base : base + sep)) {
    throw new ServiceError('bad_request', 'This path leads out of its folder');
  }
  return real;
}

/** As findInside, for what may be no link at all. */
export async function resolveWithoutLinks(folder: string, name: string): Promise<string | undefined> {
  const path = await resolveFileInside(folder, name);
  const base = await realPathOf(folder);
  if (path === undefined || base === undefined || path === join(base, name)) return path;
  throw new ServiceError('bad_request', 'This name leads out of its folder');
}

/** One step of a path that stays where it is. */
export function isPlainName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);
}

async function realPathOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (nowhere.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
