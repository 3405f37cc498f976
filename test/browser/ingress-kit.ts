// Ingress controller of a test at one port: forwards TLS by server name, unopened (TLSRoute, IngressRouteTCP), or ends it (Ingress).
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { Scope } from '../kit/kube/scope.ts';
import type { CertificateFiles } from '../kit/network/certificates.ts';
import { type Hold, join, proxyHeader, startTcpServer } from '../kit/network/tcp-server.ts';

/** `endsTls`: the target gets plain data. `proxyProtocol`: it gets a header of that version first. */
export type SniRoute = { host: string; port: number; endsTls?: boolean; proxyProtocol?: 1 | 2 };

export type SniIngress = {
  /** Number of connections by server name, and those that no route matches. */
  connections: ReadonlyMap<string, number>;
};

const maxHello = 16_384 + 5;

/** `certificate`: of the names whose TLS ends here. Stopped with the scope. */
export async function startSniIngress(
  scope: Scope,
  { address, port }: { address: string; port: number },
  routes: ReadonlyMap<string, SniRoute>,
  certificate: CertificateFiles,
): Promise<SniIngress> {
  const connections = new Map<string, number>();
  const inside = await startTlsEnd(scope, routes, certificate);
  const serve = (client: Socket, hold: Hold) => {
    let head = Buffer.alloc(0);
    const read = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const name = serverName(head);
      if (name === undefined && head.length < maxHello) return;
      client.off('data', read).pause();
      const route = routes.get(name ?? '');
      connections.set(name ?? '', (connections.get(name ?? '') ?? 0) + 1);
      if (!route) {
        client.destroy();
        return;
      }
      const target = hold(route.endsTls ? connect(inside, '127.0.0.1') : connect(route.port, route.host));
      if (route.proxyProtocol !== undefined) target.write(proxyHeader(client, route.proxyProtocol));
      target.write(head);
      join(client, target);
    };
    client.on('data', read);
  };
  await startTcpServer(scope, serve, address, port);
  return { connections };
}

/** @returns the port of a server that ends TLS and forwards the data by server name */
async function startTlsEnd(scope: Scope, routes: ReadonlyMap<string, SniRoute>, files: CertificateFiles): Promise<number> {
  const sockets = new Set<{ destroy: () => void }>();
  const server = createServer({ cert: readFileSync(files.certificate), key: readFileSync(files.key) }, (client) => {
    const { host, port } = routes.get(String(client.servername)) ?? { host: '', port: 0 };
    const target = connect(port, host);
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    join(client, target);
  });
  // A browser may close a connection during its handshake.
  server.on('tlsClientError', () => {});
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  scope.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((done) => server.close(() => done()));
  });
  return (server.address() as AddressInfo).port;
}

/** Server name of a ClientHello in one TLS record (RFC 8446, RFC 6066); undefined if the record is not complete or has none. */
function serverName(data: Buffer): string | undefined {
  if (data.length < 5 || data[0] !== 22 || data.length < 5 + data.readUInt16BE(3)) return undefined;
  // After the headers of record and message, the version and the random.
  let at = 5 + 4 + 2 + 32;
  at += 1 + data.readUInt8(at);
  at += 2 + data.readUInt16BE(at);
  at += 1 + data.readUInt8(at);
  const end = at + 2 + data.readUInt16BE(at);
  for (at += 2; at + 4 <= end; at += 4 + data.readUInt16BE(at + 2)) {
    if (data.readUInt16BE(at) !== 0) continue;
    const length = data.readUInt16BE(at + 7);
    return data.toString('latin1', at + 9, at + 9 + length);
  }
  return undefined;
}
