// Real S3 server (versitygw) over a folder, with one bucket; stopped with the test.
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { S3Target } from '../../../api/component/s3-target.ts';
import { eventually } from '../eventually.ts';
import { kubernetesPrograms } from '../kube/binaries.ts';
import { Child } from '../kube/child.ts';
import type { Scope } from '../kube/scope.ts';
import { freePort } from '../network/free-ports.ts';

export type S3Server = {
  port: number;
  /** This server with valid keys. */
  place: S3Target;
  /** Variables of a node that uses it as storage. */
  env: Record<string, string>;
  /** Names of all objects of the bucket, sorted. */
  names: () => Promise<string[]>;
  /** Content of an object; undefined if it does not exist. */
  read: (name: string) => Promise<Buffer | undefined>;
  /** Creates another bucket for the same keys. */
  makeBucket: (name: string) => Promise<void>;
  /** Stops the server; its data is kept. */
  stop: () => Promise<void>;
  /** Restarts the server on the same port. */
  start: () => Promise<void>;
};

const bucket = 'kept';

/** Address and command prefix of the server, if it does not run on loopback. */
export type S3ServerEndpoint = { address: string; wrap: readonly string[] };

export async function startS3Server(
  scope: Scope,
  { address, wrap }: S3ServerEndpoint = { address: '127.0.0.1', wrap: [] },
): Promise<S3Server> {
  const { versitygw } = kubernetesPrograms(['versitygw']);
  const folder = await mkdtemp(join(tmpdir(), 'mediarooms-s3-'));
  const data = join(folder, 'data');
  const metadata = join(folder, 'metadata');
  await mkdir(join(data, bucket), { recursive: true });
  await mkdir(metadata);
  const port = await freePort();
  const keys = { accessKeyId: `key-id-${port}`, secretAccessKey: `s3-secret-key-${folder.slice(-6)}-${port}` };
  const endpoint = `http://${address}:${port}`;
  let child: Child | undefined;
  const start = async () => {
    const own = ['--access', keys.accessKeyId, '--secret', keys.secretAccessKey, '--port', `${address}:${port}`, '--keep-alive', '--quiet'];
    child = new Child([versitygw, ...own, 'posix', '--sidecar', metadata, data], { log: join(folder, 'log'), env: {}, wrap });
    const check = async () => {
      if (child?.end) throw new Error(`the S3 server did not start:\n${child.tail()}`);
      return answers(address, port);
    };
    await eventually(() => `the S3 server responds:\n${child?.tail()}`, check, { every: 20 });
  };
  const stop = async () => {
    await child?.stop();
    child = undefined;
  };
  scope.after(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });
  await start();
  return {
    port,
    place: { bucket, endpoint, ...keys },
    env: {
      SVC_S3_BUCKET: bucket,
      SVC_S3_ENDPOINT: endpoint,
      SVC_S3_ACCESS_KEY_ID: keys.accessKeyId,
      SVC_S3_SECRET_ACCESS_KEY: keys.secretAccessKey,
    },
    names: async () => (await filesBelow(join(data, bucket))).map((path) => relative(join(data, bucket), path)).sort(),
    read: (name) => readFile(join(data, bucket, name)).catch(() => undefined),
    makeBucket: (name) => mkdir(join(data, name)),
    stop,
    start,
  };
}

/** Without the server's data of multipart uploads, and without files that disappear meanwhile. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ignoreMissing);
  const found = await Promise.all(
    entries
      .filter(({ name }) => name !== '.sgwtmp')
      .map((entry) => (entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)])),
  );
  return found.flat();
}

function ignoreMissing(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

function answers(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, address);
    socket.on('connect', () => socket.destroy());
    socket.on('error', () => resolve(false));
    socket.on('close', (failed) => resolve(!failed));
  });
}
