// Where programs that speak SIP run: on loopback, or on a machine of its own.

/** `pid`: a process that has the network of the place. */
export type SipNetwork = { address: string; wrap: readonly string[]; pid: number };

export const loopbackNetwork: SipNetwork = { address: '127.0.0.1', wrap: [], pid: process.pid };
