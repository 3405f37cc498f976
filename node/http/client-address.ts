// Who asks: the address of a client behind proxies that are trusted, as express finds it for requests that are no upgrades.
import type { IncomingMessage } from 'node:http';

/** Whether the address, so many hops from this node, is that of a trusted proxy: express's `trust proxy fn`. */
export type TrustsProxy = (address: string, hop: number) => boolean;

/** The nearest address that is no trusted proxy's; the farthest where all are. */
export function clientOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>, trusts: TrustsProxy): string {
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const hops = [
    socket.remoteAddress ?? '',
    ...forwarded
      .map((address) => address.trim())
      .filter(Boolean)
      .reverse(),
  ];
  return hops.find((address, hop) => !trusts(address, hop)) ?? hops.at(-1) ?? '';
}
