// One who sits between a client and a node, passes everything on and keeps what the client says.
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { join, startTcpServer } from './tcp-server.ts';

export type Wiretap = {
  port: number;
  /** HTTP requests so far, whole, each as it was sent; upgrades to a websocket among them. */
  requests: () => string[];
  /** Text frames that clients of websockets sent so far, without their mask. */
  frames: () => string[];
};

/** Passes on to a port of loopback, also where nothing listens there yet. */
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

/** Without the frames of a websocket behind it. */
function headOf(stream: Buffer): string {
  const text = stream.toString('latin1');
  return isUpgrade(text) ? text.slice(0, text.indexOf('\r\n\r\n') + 4) : text;
}

function isUpgrade(text: string): boolean {
  return /^upgrade: websocket\r$/im.test(text);
}

/** RFC 6455, section 5.2: frames of a client, which are masked. */
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
