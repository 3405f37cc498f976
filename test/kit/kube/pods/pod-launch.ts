// Starts the process of a container: a real media node or operator, with the environment of image and pod and the DNS of the runner.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { variables } from '../../../../api/settings/variables.ts';
import { nodeProgram, reportAnswers } from '../../../../tools/node-bundle.mjs';
import { operatorProgram } from '../../../../tools/operator-bundle.mjs';
import { answerValidatorsVariable } from '../../../../tools/paths.mjs';
import { workerBin } from '../../processes/worker-bin.ts';
import { Child } from '../child.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import type { Launch } from './pod-worker.ts';

const tokenFile = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** Network context of a process of a pod. */
export type PodContext = {
  /** `ip:port` of the DNS server. */
  dns: string;
  /** Current records of the DNS server, by full name. */
  names: ReadonlyMap<string, readonly string[]>;
  /** The API server and the PEM file of its CA: it has no address in the pod network. */
  api: { server: string; authority: string };
};

/** Whether the image is that of the operator; all others are of the node. */
function isOperator(image = ''): boolean {
  return /(^|\/)operator[:@]/.test(image);
}

/** Variables set by the image, according to the configuration table. */
const imageVariables = variables.flatMap(({ env, image }) => (image === undefined ? [] : [[`SVC_${env}`, image] as const]));

/** Environment of the process, instead of that of the container. */
function processEnvironment({ container, pod, place, env, paths }: Launch): Record<string, string> {
  const inside: Record<string, string> = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: '/tmp',
    TMPDIR: '/tmp',
    HOSTNAME: pod.spec.hostname ?? pod.metadata.name,
    ...(isOperator(container.image) ? { OPERATOR_IP: '0.0.0.0' } : Object.fromEntries(imageVariables)),
    // A node detects this in a separate network, but not on loopback.
    SVC_DIST_IP: place.podIP,
    ...env,
  };
  const mapped = Object.entries(inside).map(([name, value]) => [
    name,
    /_IP$/.test(name) ? ownAddress(value, place.podIP) : paths.rewrite(value),
  ]);
  const { PATH = '', NODE_COMPILE_CACHE, [answerValidatorsVariable]: validators } = process.env;
  return {
    ...Object.fromEntries(mapped),
    PATH,
    MEDIASOUP_WORKER_BIN: workerBin,
    // Without the caches, compiling programs and schemas would dominate the time of a test run.
    ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
    ...(validators && { [answerValidatorsVariable]: validators }),
  };
}

/** Replaces wildcard addresses by the pod IP, because the addresses of this machine are shared between pods. */
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
  // The C library, which `fetch` uses, does not support a port of a DNS server.
  writeFileSync(hosts, hostsFile(names, pod.metadata.namespace));
  // The entry point of the image is a path of this machine, not of the container.
  const entry = container.command ? [] : [process.execPath, ...(operator ? [operatorProgram] : [reportAnswers, nodeProgram])];
  const command = [...entry, ...[...(container.command ?? []), ...(container.args ?? [])].map((word) => paths.rewrite(word))];
  const cwd = join(folder, 'work');
  mkdirSync(cwd, { recursive: true });
  const env = processEnvironment(launch);
  if (operator) {
    env.KUBECONFIG = join(folder, 'kubeconfig');
    const file = paths.rewrite(tokenFile);
    // Not every pod has a token.
    const token = existsSync(file) ? readFileSync(file, 'utf8') : '';
    writeKubeconfig(env.KUBECONFIG, { ...api, token, namespace: pod.metadata.namespace });
  }
  return new Child(command, { log, cwd, env, wrap: withFiles({ '/etc/resolv.conf': resolv, ...(operator && { '/etc/hosts': hosts }) }) });
}

/** Names of Services as a pod of the namespace can use them. */
function hostsFile(names: PodContext['names'], namespace: string): string {
  const lines = [...names].flatMap(([name, [address]]) => {
    const short = name.endsWith(`.${namespace}.svc.cluster.local`) ? ` ${name.split('.')[0]}` : '';
    return address === undefined ? [] : [`${address} ${name}${short}`];
  });
  return `127.0.0.1 localhost\n${lines.join('\n')}\n`;
}

/**
 * Creates a mount namespace in which files replace others, by their paths. The program replaces the shell, so it has the process id of the
 * started process.
 */
function withFiles(files: Readonly<Record<string, string>>): string[] {
  const unshare = process.getuid?.() === 0 ? ['unshare', '--mount'] : ['unshare', '--user', '--map-root-user', '--mount'];
  const mounts = Object.entries(files).map(([place, file]) => `mount --bind '${file}' ${place}`);
  return [...unshare, 'sh', '-c', `${mounts.join(' && ')} && exec "$@"`, 'sh'];
}
