// Debian packages that setup needs, by purpose, and their installation.

import { existsSync } from 'node:fs';

import { runWithRetry } from './retry.mjs';
import { run, SetupError, step } from './steps.mjs';

/** Names as in Debian and Ubuntu. */
export const aptPackages = /** @type {const} */ ({
  worker: [
    'libuv1-dev',
    'libssl-dev',
    'libsrtp2-dev',
    'libflatbuffers-dev',
    'flatbuffers-compiler',
    'libabsl-dev',
    'ninja-build',
    'pkgconf',
    'patch',
    'g++',
    'python3',
    'python3-pip',
  ],
  fuzz: ['clang', 'libclang-rt-dev'],
  media: ['ffmpeg'],
  signers: ['python3-jwt'],
  sip: ['kamailio', 'kamailio-tls-modules', 'sip-tester', 'openssl'],
  relay: ['coturn'],
  browser: ['chromium', 'chromium-headless-shell', 'ffmpeg', 'coturn'],
  firefox: ['firefox-esr'],
  networks: ['iproute2', 'iptables', 'nftables'],
  cluster: ['erlang-base'],
  metrics: ['prometheus'],
  gitops: ['lua5.1'],
  images: ['buildah', 'debootstrap', 'debian-archive-keyring'],
  release: ['docker-registry'],
  machines: [
    'containerd',
    'runc',
    'containernetworking-plugins',
    'iptables',
    'nftables',
    'conntrack',
    'iproute2',
    'openssl',
    'curl',
    'gcc',
    'libc6-dev',
  ],
});

const statusFormat = `\${Package} \${db:Status-Status}\n`;

/**
 * @param {string} status output of `dpkg-query -W -f '${Package} ${db:Status-Status}\n'`
 * @param {readonly string[]} wanted
 * @returns {string[]} the packages that are not installed
 */
export function missingPackages(status, wanted) {
  const installed = new Set();
  for (const line of status.split('\n')) {
    const [name, state] = line.trim().split(' ');
    if (state === 'installed') installed.add(name);
  }
  return wanted.filter((name) => !installed.has(name));
}

/**
 * @typedef {object} InstallPlan
 * @property {string[]} [prefix] command prefix of apt-get
 * @property {string} [obstacle] reason why apt-get cannot be run
 */

/**
 * @param {{ apt: boolean, root: boolean, sudo: boolean, terminal: boolean }} machine
 * @returns {InstallPlan}
 */
export function planInstall(machine) {
  if (!machine.apt) return { obstacle: 'this system has no apt-get' };
  if (machine.root) return { prefix: [] };
  if (!machine.sudo) return { obstacle: 'installing requires root, and sudo is not available' };
  return { prefix: machine.terminal ? ['sudo'] : ['sudo', '-n'] };
}

/**
 * @param {readonly string[]} packages
 * @param {boolean} [sudo] true if sudo is available
 * @returns {string} the command that installs the packages
 */
export function aptLine(packages, sudo = existsSync('/usr/bin/sudo')) {
  const prefix = sudo ? 'sudo ' : '';
  const line = `${prefix}apt-get update && ${prefix}apt-get install -y ${packages.join(' ')}`;
  return sudo ? line : `${line} (as root)`;
}

/**
 * Installs missing packages. Does nothing, and prompts for nothing, if all are installed.
 * @param {readonly string[]} wanted
 * @param {string} purpose completes the message "... is required for "
 * @throws {SetupError}
 */
export async function ensurePackages(wanted, purpose) {
  if (wanted.length === 0) return;
  const apt = existsSync('/usr/bin/apt-get') && existsSync('/usr/bin/dpkg-query');
  const { output } = apt ? await run('dpkg-query', ['-W', '-f', statusFormat, ...wanted]) : { output: '' };
  const missing = missingPackages(output, wanted);
  if (missing.length === 0) return;
  const names = missing.join(', ');
  const plan = planInstall({
    apt,
    root: process.getuid?.() === 0,
    sudo: existsSync('/usr/bin/sudo'),
    terminal: process.stdin.isTTY === true,
  });
  if (!plan.prefix) {
    const remedy = apt ? aptLine(missing) : `install the equivalent of these Debian packages: ${missing.join(' ')}`;
    throw new SetupError(`${names} is required for ${purpose}, but ${plan.obstacle}.`, remedy);
  }
  const prefix = plan.prefix;
  await step(`installing ${names} (for ${purpose})`, async () => {
    const installed = await runWithRetry(async () => {
      const updated = await aptGet(prefix, ['update', '-q']);
      const result = await aptGet(prefix, ['install', '-y', '-q', '--no-install-recommends', ...missing]);
      // An outdated package list is the usual reason for a package that is not found.
      return { ...result, output: `${updated.output}\n${result.output}` };
    });
    if (installed.code !== 0) {
      throw new SetupError(`apt-get could not install ${names}: ${lastError(installed.output)}`, aptLine(missing));
    }
  });
}

/** Chromium and its dependencies are hundreds of megabytes, and a killed apt-get can leave packages half installed. */
const aptTimeoutMs = 1_800_000;

/**
 * @param {string[]} prefix
 * @param {string[]} args
 */
function aptGet(prefix, args) {
  // Tests start the programs themselves, so installing a package must not start its service (systemctl(1)).
  const whole = [
    ...prefix,
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'LC_ALL=C',
    'SYSTEMD_OFFLINE=1',
    'apt-get',
    '-o',
    'DPkg::Lock::Timeout=120',
    ...args,
  ];
  return run(/** @type {string} */ (whole[0]), whole.slice(1), { terminal: true, deadline: aptTimeoutMs });
}

/**
 * @param {string} output
 * @returns {string} the most informative line: the last error, or the last line
 */
export function lastError(output) {
  const lines = output.split('\n').map((line) => line.trim());
  const filled = lines.filter((line) => line.length > 0);
  const errors = filled.filter((line) => /^(E:|error|npm error|fatal|sudo:)/i.test(line));
  return (errors.at(-1) ?? filled.at(-1) ?? 'no output').slice(0, 300);
}
