// Network of SIP programs in tests: loopback, or a machine of its own.

/** `pid`: a process in that network. */
export type SipNetwork = { address: string; wrap: readonly string[]; pid: number };

export const loopbackNetwork: SipNetwork = { address: '127.0.0.1', wrap: [], pid: process.pid };
