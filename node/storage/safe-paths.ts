// Safe paths: resolve untrusted names below a folder by real path, so that no link leads out of it.
import { realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { ServiceError } from '../../api/errors.ts';

/** Error codes for paths that do not exist. */
const nowhere = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);

/**
 * The real path of an entry of a folder. It may be a link that stays in the folder.
 * @returns undefined if it does not exist.
 * @throws ServiceError `bad_request` if it is no plain name, or a link that leaves the folder.
 */
export async function resolveFileInside(folder: string, name: string): Promise<string | undefined> {
  if (!isPlainName(name)) throw new ServiceError('bad_request', 'File names must not contain slashes and must not be . or ..');
  return resolveInside(folder, [name], 'This name leads out of its folder');
}

/**
 * Like resolveFileInside(), for a path of plain names.
 * @throws ServiceError `bad_request` for other paths, and for links that leave the folder.
 */
export async function resolvePathInside(folder: string, path: string): Promise<string | undefined> {
  const names = path.split('/');
  const leadsOut = 'This path leads out of its folder';
  if (!names.every(isPlainName)) throw new ServiceError('bad_request', leadsOut);
  return resolveInside(folder, names, leadsOut);
}

async function resolveInside(folder: string, names: readonly string[], leadsOut: string): Promise<string | undefined> {
  const base = await realPathOf(folder);
  if (base === undefined) return undefined;
  const path = await realPathOf(join(base, ...names));
  if (path !== undefined && !path.startsWith(base.endsWith(sep) ? base : base + sep)) throw new ServiceError('bad_request', leadsOut);
  return path;
}

/** Like resolveFileInside(), but rejects links. */
export async function resolveWithoutLinks(folder: string, name: string): Promise<string | undefined> {
  const path = await resolveFileInside(folder, name);
  const base = await realPathOf(folder);
  if (path === undefined || base === undefined || path === join(base, name)) return path;
  throw new ServiceError('bad_request', 'This name leads out of its folder');
}

/** A path segment that does not change the folder. */
function isPlainName(name: string): boolean {
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
