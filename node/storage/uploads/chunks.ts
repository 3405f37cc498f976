// Chunk names: object names for chunks of a growing file, by offset, until the whole file is uploaded.

const folder = '.chunks';
const digits = 15;

/** Prefix of all chunks of a folder, or of one of its files. */
export function listChunks(id: string, file?: string): string {
  return `${id}/${folder}/${file === undefined ? '' : `${file}/`}`;
}

export function chunkName(id: string, file: string, offset: number): string {
  return `${listChunks(id, file)}${String(offset).padStart(digits, '0')}`;
}

/** @returns undefined if the name is not that of a chunk. */
export function parseChunk(name: string): { id: string; file: string; offset: number } | undefined {
  const [id = '', hidden, file = '', offset = '', ...rest] = name.split('/');
  if (hidden !== folder || rest.length > 0 || !/^\d{15}$/.test(offset)) return undefined;
  return { id, file, offset: Number(offset) };
}

/** The contiguous chunks from the beginning of the file. */
export function concatenatedChunks<Piece extends { offset: number; size: number }>(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = [];
  let end = 0;
  for (const piece of pieces.toSorted((one, other) => one.offset - other.offset)) {
    if (piece.offset !== end) break;
    joined.push(piece);
    end += piece.size;
  }
  return joined;
}
