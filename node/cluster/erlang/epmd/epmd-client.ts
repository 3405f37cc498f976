// EPMD client: registers a node, looks up the port of a node, and lists all nodes. Every request has a timeout.
import { connect, type Socket } from 'node:net';
import { WireError } from '../wire-error.ts';
import {
  aliveRequest,
  distributionVersion,
  type NodeEntry,
  namesRequest,
  parseAliveReply,
  parseNamesReply,
  parsePortReply,
  portPleaseRequest,
} from './epmd-packets.ts';

export type EpmdAddress = { host: string; port: number };
/** A registration is valid while its connection is open. */
export type Registration = { creation: number; closed: Promise<void>; close: () => void };

const questionTimeoutMs = 5000;
const maxAnswerBytes = 1_048_576;

/** Another node is registered at the EPMD under this name. */
export class NameTakenError extends Error {
  constructor(name: string) {
    super(`Another node is registered as ${name} at the EPMD of this host`);
    this.name = 'NameTakenError';
  }
}

/** Registers a node. @throws NameTakenError; WireError if the server is not an EPMD; Error of the connection */
export async function registerNode(address: EpmdAddress, node: { name: string; port: number }): Promise<Registration> {
  const entry = { ...node, hidden: false, highest: distributionVersion, lowest: distributionVersion, extra: Buffer.alloc(0) };
  const socket = await open(address);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  try {
    const { creation } = await exchange(socket, aliveRequest(entry), (bytes, ended) => {
      if (ended) throw new WireError('invalid response of EPMD');
      return parseAliveReply(bytes);
    });
    if (creation === null) throw new NameTakenError(node.name);
    // Without keep-alive a lost host would hold the name forever.
    socket.setKeepAlive(true, 60_000);
    socket.resume();
    return { creation, closed, close: () => socket.destroy() };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Port of a node, and the address at which its EPMD responded; undefined if it is not registered. @throws WireError Error */
export async function findNode(address: EpmdAddress, name: string): Promise<{ entry: NodeEntry; host: string } | undefined> {
  const socket = await open(address);
  try {
    const host = socket.remoteAddress ?? address.host;
    const reply = await exchange(socket, portPleaseRequest(name), (bytes, ended) => (ended ? { entry: parsePortReply(bytes) } : undefined));
    return reply.entry && { entry: reply.entry, host };
  } finally {
    socket.destroy();
  }
}

/** All nodes registered at an EPMD. @throws WireError Error */
export async function listNodes(address: EpmdAddress): Promise<{ name: string; port: number }[]> {
  const socket = await open(address);
  try {
    return await exchange(socket, namesRequest(), (bytes, ended) => (ended ? parseNamesReply(bytes) : undefined));
  } finally {
    socket.destroy();
  }
}

function open({ host, port }: EpmdAddress): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    const timer = setTimeout(() => socket.destroy(new Error(`no EPMD responded at ${host} port ${port}`)), questionTimeoutMs);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}

/** Sends a request and collects bytes until `parse` returns a value. */
function exchange<Value>(socket: Socket, request: Buffer, parse: (bytes: Buffer, ended: boolean) => Value | undefined): Promise<Value> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const timer = setTimeout(() => fail(new Error('timeout of EPMD')), questionTimeoutMs);
    const stop = () => {
      clearTimeout(timer);
      socket.off('data', take).off('close', end);
    };
    const fail = (error: unknown) => {
      stop();
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    const tryParse = (ended: boolean) => {
      try {
        const value = parse(bytes, ended);
        if (value === undefined) {
          if (ended) fail(new WireError('incomplete response of EPMD'));
          return;
        }
        stop();
        resolve(value);
      } catch (error) {
        fail(error);
      }
    };
    const take = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length > maxAnswerBytes) fail(new WireError('response of EPMD is too long'));
      else tryParse(false);
    };
    const end = () => tryParse(true);
    socket.on('data', take).once('close', end);
    socket.write(request);
  });
}
