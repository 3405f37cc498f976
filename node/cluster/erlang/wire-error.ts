// The one error that bytes from outside can cause in this folder.

/** Thrown for anything that a peer sent and that is not what its protocol allows. The message never holds what came. */
export class WireError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WireError';
  }
}
