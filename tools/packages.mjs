// The distribution's packages that set-up needs, by purpose, and how they are installed.

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
  sip: ['kamailio', 'kamailio-tls-modules', 'sip-tester', 'openssl'],
  relay: ['coturn'],
  browser: ['chromium', 'ffmpeg', 'coturn'],
  networks: ['iproute2', 'iptables'],
  cluster: ['erlang-base'],
  metrics: ['prometheus'],
  images: ['buildah', 'debootstrap'],
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
 * @param {string} status what `dpkg-query -W -f '${Package} ${db:Status-Status}\n'` printed
 * @param {readonly string[]} wanted
 * @returns {string[]} those not installed
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
 * @property {string[]} [prefix] what goes in front of apt-get
 * @property {string} [obstacle] why apt-get cannot be run
 */

/**
 * @param {{ apt: boolean, root: boolean, sudo: boolean, terminal: boolean }} machine
 * @returns {InstallPlan}
 */
export function planInstall(machine) {
  if (!machine.apt) return { obstacle: 'this system has no apt-get' };
  if (machine.root) return { prefix: [] };
  if (!machine.sudo) return { obstacle: 'installing needs root and there is no sudo' };
  return { prefix: machine.terminal ? ['sudo'] : ['sudo', '-n'] };
}

/**
 * @param {readonly string[]} packages
 * @param {boolean} [sudo] whether there is sudo to do it with
 * @returns {string} the line that mends a missing package
 */
export function aptLine(packages, sudo = existsSync('/usr/bin/sudo')) {
  const prefix = sudo ? 'sudo ' : '';
  const line = `${prefix}apt-get update && ${prefix}apt-get install -y ${packages.join(' ')}`;
  return sudo ? line : `${line} (as root)`;
}

/**
 * Installs what is missing of the packages. Does nothing, and asks nobody, when all are there.
 * @param {readonly string[]} wanted
 * @param {string} purpose ends the sentence "... is needed for "
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
    const remedy = apt ? aptLine(missing) : `install what these Debian packages hold: ${missing.join(' ')}`;
    throw new SetupError(`${names} is needed for ${purpose}, and ${plan.obstacle}.`, remedy);
  }
  const prefix = plan.prefix;
  await step(`installing ${names} (for ${purpose})`, async () => {
    const installed = await runWithRetry(async () => {
      const updated = await aptGet(prefix, ['update', '-q']);
      const result = await aptGet(prefix, ['install', '-y', '-q', '--no-install-recommends', ...missing]);
      // Lists that could not be brought up to date are why a package is not found.
      return { ...result, output: `${updated.output}\n${result.output}` };
    });
    if (installed.code !== 0) {
      throw new SetupError(`apt-get could not install ${names}: ${lastError(installed.output)}`, aptLine(missing));
    }
  });
}

/** Chromium and what it needs are hundreds of megabytes, and an apt-get that is ended may leave packages half installed. */
const aptTimeoutMs = 1_800_000;

/**
 * @param {string[]} prefix
 * @param {string[]} args
 */
function aptGet(prefix, args) {
  // Tests start what they need themselves: no service is started along with its package (systemctl(1)).
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
 * @returns {string} the line that says most: the last error, else the last line
 */
export function lastError(output) {
  const lines = output.split('\n').map((line) => line.trim());
  const filled = lines.filter((line) => line.length > 0);
  const errors = filled.filter((line) => /^(E:|error|npm error|fatal|sudo:)/i.test(line));
  return (errors.at(-1) ?? filled.at(-1) ?? 'it printed nothing').slice(0, 300);
}
