// HTTP of a node: starts its server by the settings.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { nodeMetrics } from '../../api/metrics.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import type { NodeAddress } from '../config/node-address.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import type { TlsFiles } from '../config/tls.ts';
import type { Tokens } from '../rooms/tokens/start-tokens.ts';
import { type HttpOptions, HttpServer } from './http-server.ts';

const consoleDir = join(import.meta.dirname, '../../packages/console/dist');
/** Milliseconds for requests in flight at the end of the node. */
const httpTimeoutMs = 2_000;

export type HttpContext = FeatureContext &
  Pick<HttpOptions, 'operations' | 'content' | 'tracer' | 'forwardedBy' | 'health' | 'ready' | 'upgrade' | 'documents'> & {
    hot: Pick<ReloadableConfigView, 'current'> & { readonly developmentToken: string | undefined };
    config: Pick<HttpOptions, 'ip' | 'port' | 'trustProxy'> & { tls: TlsFiles | null };
    address: NodeAddress;
    tokens: Tokens;
    /** The other nodes. */
    members: { all(): readonly { address: string }[] };
  };

/** Resolves when the server listens. @throws Error with a readable message */
export async function startHttp({ hot, config, address, tokens, members, ...context }: HttpContext): Promise<HttpServer> {
  const { metrics, closers, ...options } = context;
  const server = await HttpServer.start({
    ...options,
    ip: config.ip,
    port: config.port,
    trustProxy: config.trustProxy,
    tls: config.tls ?? undefined,
    host: () => address.host,
    otherAddresses: () => members.all().map((member) => member.address),
    apiTokens: tokens.api,
    viewerTokens: tokens.viewers,
    signedCalls: tokens.signedCalls,
    corsOrigins: () => hot.current.corsOrigins,
    rateLimit: () => hot.current.limits.rateLimitApi ?? undefined,
    consoleDir: existsSync(consoleDir) ? consoleDir : undefined,
    consoleSession: () => ({
      development: hot.developmentToken !== undefined,
      token: hot.developmentToken,
      components: [...hot.current.componentsUsed],
    }),
    observe: ({ duration, status, ...labels }) =>
      metrics.observe(nodeMetrics.requests.duration, { ...labels, status: String(status) }, duration / 1000),
  });
  closers.add('http', (ending) => server.close(ending.timeout(httpTimeoutMs)));
  metrics.collect(nodeMetrics.httpTraffic, () => server.traffic);
  address.bound(server.port);
  return server;
}
