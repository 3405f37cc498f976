// Thread of the TURN front: forwards each connection to coturn after its PROXY protocol header, within limits for each client network.
import { connect, createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { networkOf } from '../../common/rate-limit.ts';
import { readProxyHeader } from './proxy-header.ts';
import type { FrontMessage, FrontOptions } from './turn-front.ts';

const { listen, target, maxConnections, maxPerNetwork, headerTimeoutMs } = workerData as FrontOptions;
/** Open connections of each client network. */
const open = new Map<string, number>();

function report(message: FrontMessage): void {
  parentPort?.postMessage(message);
}

function serve(client: Socket): void {
  const timer = setTimeout(() => client.destroy(), headerTimeoutMs);
  let head = Buffer.alloc(0);
  const read = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const header = readProxyHeader(head);
    if (header === 'incomplete') return;
    client.off('data', read).pause();
    clearTimeout(timer);
    if (header === 'invalid') {
      report({ rejected: 'header' });
      client.destroy();
      return;
    }
    if (header.address === undefined || admit(client, networkOf(header.address))) forward(client, head.subarray(header.length));
    else client.destroy();
  };
  client
    .on('data', read)
    .on('error', () => {})
    .on('close', () => clearTimeout(timer));
}

function admit(client: Socket, network: string): boolean {
  const count = open.get(network) ?? 0;
  if (count >= maxPerNetwork) {
    report({ rejected: 'network' });
    return false;
  }
  open.set(network, count + 1);
  client.once('close', () => {
    const left = (open.get(network) ?? 1) - 1;
    if (left > 0) open.set(network, left);
    else open.delete(network);
  });
  return true;
}

function forward(client: Socket, first: Buffer): void {
  const coturn = connect({ ...target, noDelay: true });
  coturn.on('error', () => {}).on('close', () => client.destroy());
  client.on('close', () => coturn.destroy());
  coturn.write(first);
  client.pipe(coturn).pipe(client);
}

const server = createServer({ noDelay: true }, serve);
server.maxConnections = maxConnections;
server.on('drop', () => report({ rejected: 'total' }));
server.on('error', ({ message }) => report({ failed: message }));
server.listen({ ...listen, backlog: 1024 }, () => report({ listening: true }));
