// Dialer: finds a node with the EPMD of its host and opens a socket to it.
import { connect, type Socket } from 'node:net';
import { findNode } from './epmd/epmd-client.ts';
import { distributionVersion } from './epmd/epmd-packets.ts';

const connectTimeoutMs = 5000;

/** Opens a socket to the node. @throws Error with the reason of the failure */
export async function openSocket(node: { name: string; host: string }, epmdPort: number): Promise<Socket> {
  const found = await findNode({ host: node.host, port: epmdPort }, node.name);
  if (!found) throw new Error(`node ${node.name} is not registered at the EPMD of ${node.host}`);
  const { highest, lowest, port } = found.entry;
  if (highest < distributionVersion || lowest > distributionVersion) throw new Error('the node uses another distribution version');
  return open(found.host, port);
}

function open(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    const timer = setTimeout(() => socket.destroy(new Error(`no response from ${host} port ${port}`)), connectTimeoutMs);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    socket.on('error', fail);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}
