// Wiretap: a TCP proxy between clients and a node that records the data of the clients.
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { join, startTcpServer } from './tcp-server.ts';

export type Wiretap = {
  port: number;
  /** Complete HTTP requests so far, as sent, including websocket upgrades. */
  requests: () => string[];
  /** Text frames of websocket clients so far, unmasked. */
  frames: () => string[];
};

/** Forwards to a port of loopback, even if nothing listens there yet. */
export async function startWiretap(t: TestContext, targetPort: number): Promise<Wiretap> {
  const connections: Buffer[][] = [];
  const { port } = await startTcpServer(t, (client, hold) => {
    const said: Buffer[] = [];
    connections.push(said);
    client.on('data', (chunk: Buffer) => said.push(chunk));
    join(client, hold(connect(targetPort, '127.0.0.1')));
  });
  const streams = () => connections.map((said) => Buffer.concat(said));
  return {
    port,
    requests: () => streams().flatMap((stream) => headOf(stream).split(/(?=(?:GET|POST|PATCH|DELETE) \/\S* HTTP\/1\.1\r\n)/)),
    frames: () => streams().flatMap((stream) => framesIn(stream)),
  };
}

/** Without the websocket frames after it. */
function headOf(stream: Buffer): string {
  const text = stream.toString('latin1');
  return isUpgrade(text) ? text.slice(0, text.indexOf('\r\n\r\n') + 4) : text;
}

function isUpgrade(text: string): boolean {
  return /^upgrade: websocket\r$/im.test(text);
}

/** RFC 6455, section 5.2: masked frames of a client. */
function framesIn(stream: Buffer): string[] {
  const found: string[] = [];
  if (!isUpgrade(stream.toString('latin1'))) return found;
  for (let at = stream.indexOf('\r\n\r\n') + 4; at + 6 <= stream.length; ) {
    const short = (stream[at + 1] ?? 0) & 0x7f;
    const [size, header] = short === 126 ? [stream.readUInt16BE(at + 2), 4] : [short, 2];
    const mask = stream.subarray(at + header, at + header + 4);
    const data = stream.subarray(at + header + 4, at + header + 4 + size).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    if (((stream[at] ?? 0) & 0x0f) === 1) found.push(Buffer.from(data).toString());
    at += header + 4 + size;
  }
  return found;
}
