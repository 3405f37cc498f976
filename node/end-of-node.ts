// End of a node: what is closed, in one list. The list is in the order of the start; the end runs from its last line to its first.
import type { ErlangTransport } from './cluster/erlang-transport.ts';
import type { Closers } from './common/closers.ts';
import { waitWhile } from './common/timer.ts';
import type { Config } from './config.ts';
import type { NodeServices, Servers } from './node-services.ts';

/** Milliseconds for requests in flight, for progressing uploads after the drain timeout, and for final webhook attempts. */
const httpTimeoutMs = 2_000;
const uploadTimeoutMs = 1_000;
const webhookTimeoutMs = 3_000;

type Created = Omit<NodeServices, keyof Servers | 'drain'> & { servers: Servers; links: ErlangTransport; config: Config };

/** Call before the first server starts. Functions in one call end side by side. */
export function addClosers(closers: Closers, created: Created): void {
  const { announced, cluster, components, config, hot, links, media, peerSockets, rooms, servers, serverSockets, traffic, uploads } =
    created;
  closers.add(
    () => servers.metrics?.close(),
    () => announced.close(),
    () => hot.close(),
  );
  closers.add(
    () => servers.turn?.close(),
    () => media.close(),
  );
  // Leaves the cluster.
  closers.add(() => servers.distribution?.close());
  // Retries pending webhooks; the rest is handed over to another node, or stays in the spool.
  closers.add((ending) => {
    const handOver = links.nodes().length > 0 ? (batch: unknown) => traffic.webhooks.handOver(batch) : undefined;
    return created.webhooks.close(ending.timeout(webhookTimeoutMs), handOver);
  });
  closers.add(
    () => serverSockets.close(),
    (ending) => servers.http?.close(ending.timeout(httpTimeoutMs)),
  );
  // Event subscribers, here and on other nodes, have received all events by now.
  closers.add(() => traffic.events.close());
  closers.add(
    () => traffic.closeForwarding(),
    () => peerSockets.close(),
  );
  // If other nodes are active: until Ingress and load balancers stop routing to this node, it proxies new requests to other nodes.
  closers.add((ending) => waitWhile(ending.left(config.shutdownDelay), () => cluster.hasActiveNodes));
  // Uploads continue within the time left; the rest follows at the next start.
  closers.add((ending) => uploads.close(ending.left(ending.drainTimeout) + ending.timeout(uploadTimeoutMs)));
  // Calls are hung up; other components finish their output.
  closers.add(() => components.close());
  // Peers get `Room stopped`, or 1001 in a cluster, where the rooms may be recreated.
  closers.add(() => rooms.close('shutdown'));
}

/** Call when all servers have started. */
export function addDrain(closers: Closers, { drain }: Pick<NodeServices, 'drain'>): void {
  // New rooms are rejected, /health reports terminating, and peers get the deadline; then waits for the last room, until the deadline.
  closers.add((ending) => drain.terminate(ending.drainTimeout));
}
