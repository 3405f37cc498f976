// Wire error: the only error caused by received bytes in this folder.

/** Thrown if received data violates the protocol. The message never contains received data. */
export class WireError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WireError';
  }
}
