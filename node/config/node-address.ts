// Addresses of a node as configured, with the port that its HTTP server has bound.
import { withActualPort } from './addresses.ts';

export class NodeAddress {
  /** SVC_HOST: `host[:port][/path]` for clients. */
  #host: string;
  /** SVC_INTERNAL_ADDRESS: `host[:port]` for other nodes and the operator. */
  #internal: string;

  constructor({ host, internalAddress }: { host: string; internalAddress: string }) {
    this.#host = host;
    this.#internal = internalAddress;
  }

  get host(): string {
    return this.#host;
  }

  get internal(): string {
    return this.#internal;
  }

  /** The HTTP server listens: port 0 is replaced by its port. */
  bound(port: number): void {
    this.#host = withActualPort(this.#host, port);
    this.#internal = withActualPort(this.#internal, port);
  }
}
