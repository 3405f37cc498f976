// Names in S3 of what a file that still grows has so far: one object per piece, by its place in the file, until the whole file is there.

const folder = '.chunks';
const digits = 15;

/** All pieces of a folder, or of one file of it. */
export function listChunks(id: string, file?: string): string {
  return `${id}/${folder}/${file === undefined ? '' : `${file}/`}`;
}

export function chunkName(id: string, file: string, offset: number): string {
  return `${listChunks(id, file)}${String(offset).padStart(digits, '0')}`;
}

/** @returns undefined for what is no piece. */
export function parseChunk(name: string): { id: string; file: string; offset: number } | undefined {
  const [id = '', hidden, file = '', offset = '', ...rest] = name.split('/');
  if (hidden !== folder || rest.length > 0 || !/^\d{15}$/.test(offset)) return undefined;
  return { id, file, offset: Number(offset) };
}

/** The pieces from the beginning of the file up to the first hole. */
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
