// Transport requests: the transports of a media session, requested before it is opened.
import type { Method, Requests, Responses, TransportOptions } from '../generated/protocol.ts';

export type Request = <M extends Method>(method: M, data: Requests[M], portable?: boolean) => Promise<Responses[M]>;
/** Transports requested directly after authentication, so that responses arrive with the welcome. `sctp`: with data channels. */
export type PrefetchedTransports = { sctp: boolean; recv: Promise<TransportOptions>; send: Promise<TransportOptions> | undefined };

export type TransportsOptions = { sctp: boolean; sends: boolean; path?: string | undefined };

/** @param options.sends true if there are tracks or channels to send already */
export function requestTransports(request: Request, options: TransportsOptions): PrefetchedTransports {
  const { sctp, sends, path } = options;
  const common = { sctp, ...(path !== undefined && { path }) };
  const early = {
    sctp,
    recv: request('createTransport', { direction: 'recv', ...common }),
    send: sends ? request('createTransport', { direction: 'send', ...common }) : undefined,
  };
  // The later user handles failures; avoids unhandled rejections until then.
  early.recv.catch(() => {});
  early.send?.catch(() => {});
  return early;
}
