// Starts the process of a container: a real media node or operator, with what the image and the pod give it, told of the runner's DNS.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reloadableVariables, staticVariables } from '../../../../node/config/variables.ts';
import { workerBin } from '../../processes/worker-bin.ts';
import { Child } from '../child.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import type { Launch } from './pod-worker.ts';

const root = join(import.meta.dirname, '../../../..');
/** What a node's answers are compared with. */
const reportAnswers = `--import=${join(root, 'test/kit/processes/report-answers.ts')}`;
const tokenFile = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** What a process of a pod finds around it. */
export type PodContext = {
  /** `ip:port` of the server that names are asked of. */
  dns: string;
  /** What that server knows now, by full name. */
  names: ReadonlyMap<string, readonly string[]>;
  /** Where the API server is, and the PEM file that vouches for it: it has no address in the network of pods. */
  api: { server: string; authority: string };
};

/** Whether it is one of the operator's image; all others are of the node's. */
function isOperator(image = ''): boolean {
  return /(^|\/)operator[:@]/.test(image);
}

/** What the image sets: the table of the configuration says it. */
const imageVariables = Object.entries({ ...staticVariables, ...reloadableVariables }).flatMap(([name, row]) =>
  'image' in row ? [[`SVC_${name}`, row.image] as const] : [],
);

/** The variables of the process, in place of those of the container. */
export function processEnvironment({ container, pod, place, env, paths }: Launch): Record<string, string> {
  const inside: Record<string, string> = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: '/tmp',
    TMPDIR: '/tmp',
    HOSTNAME: pod.spec.hostname ?? pod.metadata.name,
    ...(isOperator(container.image) ? { OPERATOR_IP: '0.0.0.0' } : Object.fromEntries(imageVariables)),
    // Which a node finds out in a network of its own; on loopback it cannot.
    SVC_DIST_IP: place.podIP,
    ...env,
  };
  const mapped = Object.entries(inside).map(([name, value]) => [
    name,
    /_IP$/.test(name) ? ownAddress(value, place.podIP) : paths.rewrite(value),
  ]);
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return {
    ...Object.fromEntries(mapped),
    PATH,
    MEDIASOUP_WORKER_BIN: workerBin,
    // Read again and again, programs would cost a test run more than anything else does.
    ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
  };
}

/** All addresses of a pod are its own one: those of this machine are shared with other pods. */
function ownAddress(value: string, podIP: string): string {
  return value === '0.0.0.0' || value === '::' ? podIP : value;
}

export function launchProcess(launch: Launch, { dns, names, api }: PodContext): Child {
  const { container, pod, paths, folder, log } = launch;
  const resolv = join(folder, 'resolv.conf');
  const search = `${pod.metadata.namespace}.svc.cluster.local svc.cluster.local cluster.local`;
  writeFileSync(resolv, `nameserver ${dns}\nsearch ${search}\noptions ndots:5\n`);
  const operator = isOperator(container.image);
  const hosts = join(folder, 'hosts');
  // The C library, which `fetch` asks, knows of no port of a DNS server.
  writeFileSync(hosts, hostsFile(names, pod.metadata.namespace));
  // The image's own entry point is a path of this machine, not of the container.
  const entry = container.command
    ? []
    : [process.execPath, ...(operator ? [join(root, 'operator/main.ts')] : [reportAnswers, join(root, 'node/main.ts')])];
  const command = [...entry, ...[...(container.command ?? []), ...(container.args ?? [])].map((word) => paths.rewrite(word))];
  const cwd = join(folder, 'work');
  mkdirSync(cwd, { recursive: true });
  const env = processEnvironment(launch);
  if (operator) {
    env.KUBECONFIG = join(folder, 'kubeconfig');
    const file = paths.rewrite(tokenFile);
    // Not every pod has one.
    const token = existsSync(file) ? readFileSync(file, 'utf8') : '';
    writeKubeconfig(env.KUBECONFIG, { ...api, token, namespace: pod.metadata.namespace });
  }
  return new Child(command, { log, cwd, env, wrap: withFiles({ '/etc/resolv.conf': resolv, ...(operator && { '/etc/hosts': hosts }) }) });
}

/** Names of Services as a pod of the namespace may write them. */
function hostsFile(names: PodContext['names'], namespace: string): string {
  const lines = [...names].flatMap(([name, [address]]) => {
    const short = name.endsWith(`.${namespace}.svc.cluster.local`) ? ` ${name.split('.')[0]}` : '';
    return address === undefined ? [] : [`${address} ${name}${short}`];
  });
  return `127.0.0.1 localhost\n${lines.join('\n')}\n`;
}

/**
 * A mount namespace in which files stand for others, by the place where they do; the program replaces the shell, so its process id is the
 * one that was started.
 */
function withFiles(files: Readonly<Record<string, string>>): string[] {
  const unshare = process.getuid?.() === 0 ? ['unshare', '--mount'] : ['unshare', '--user', '--map-root-user', '--mount'];
  const mounts = Object.entries(files).map(([place, file]) => `mount --bind '${file}' ${place}`);
  return [...unshare, 'sh', '-c', `${mounts.join(' && ')} && exec "$@"`, 'sh'];
}
