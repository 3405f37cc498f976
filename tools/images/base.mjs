// Base image if no registry is reachable: Debian packages installed with debootstrap, then reduced to the size of a slim image.

import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastError } from '../packages.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError, step } from '../steps.mjs';
import { buildah, hasImage, imagesDirectory } from './store.mjs';

const suite = 'bookworm';
const mirror = 'http://deb.debian.org';
/** Increase this when the recipe changes. */
const recipe = 1;

/** Name in the local store. */
export const baseName = `localhost/debian:${suite}-slim-${recipe}`;

const debootstrapTimeoutMs = 900_000;
const aptTimeoutMs = 600_000;

const sources = `deb ${mirror}/debian ${suite} main
deb ${mirror}/debian ${suite}-updates main
deb ${mirror}/debian-security ${suite}-security main
`;

/** Files that the published slim images exclude as well, now and for packages installed later. */
const slimDpkg = `path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/groff/*
path-exclude /usr/share/info/*
path-exclude /usr/share/lintian/*
path-exclude /usr/share/linda/*
path-exclude /usr/share/locale/*
path-include /usr/share/locale/locale.alias
path-exclude /usr/share/man/*
`;

// An image must not start services, and must not keep the downloads of apt.
const policy = '#!/bin/sh\nexit 101\n';
const aptConfiguration = `APT::Install-Recommends "false";
Acquire::Languages "none";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/archives/partial/*.deb || true"; };
`;

// Everything that is not part of a package: indexes, logs, backups, files of the host, dates of passwords.
const clean = `set -eu
find /usr/share/doc -type f ! -name copyright -delete
find /usr/share/doc -type d -empty -delete
find /usr/share/locale -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
rm -rf /usr/share/groff/* /usr/share/info/* /usr/share/lintian/* /usr/share/man/* /var/lib/apt/lists/* /var/cache/apt/* \
  /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache /var/lib/dpkg/*-old /var/log/apt /var/log/*.log /etc/*- /tmp/* /var/tmp/* \
  /etc/resolv.conf /etc/hostname /etc/machine-id /var/lib/dbus/machine-id
find /var/log -type f -delete
sed -i -E 's/^([^:]*:[^:]*):[0-9]+:/\\1:1:/' /etc/shadow
`;

/**
 * Builds the base image, unless the local store has it.
 * @returns {Promise<string>} its name
 * @throws {SetupError}
 */
export async function ensureBase() {
  if (await hasImage(baseName)) return baseName;
  await step(`building the base image ${baseName} from Debian's packages (a minute or two)`, async () => {
    const folder = mkdtempSync(join(imagesDirectory(), 'base-'));
    try {
      const rootfs = join(folder, 'rootfs');
      await unpack(rootfs);
      await slim(rootfs);
      await store(rootfs);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
  return baseName;
}

/** @param {string} rootfs */
async function unpack(rootfs) {
  const { code, output } = await run('debootstrap', ['--force-check-gpg', '--variant=minbase', suite, rootfs, `${mirror}/debian`], {
    deadline: debootstrapTimeoutMs,
  });
  if (code !== 0) {
    throw new SetupError(
      `debootstrap could not install Debian ${suite}: ${lastError(output)}`,
      `check that ${mirror} is reachable, or use another base: npm run images -- --base IMAGE`,
    );
  }
}

/** @param {string} rootfs */
async function slim(rootfs) {
  mkdirSync(join(rootfs, 'etc/dpkg/dpkg.cfg.d'), { recursive: true });
  writeFileSync(join(rootfs, 'etc/dpkg/dpkg.cfg.d/slim'), slimDpkg);
  writeFileSync(join(rootfs, 'etc/apt/apt.conf.d/slim'), aptConfiguration);
  writeFileSync(join(rootfs, 'etc/apt/sources.list'), sources);
  writeFileSync(join(rootfs, 'usr/sbin/policy-rc.d'), policy, { mode: 0o755 });
  if (existsSync('/etc/resolv.conf')) copyFileSync('/etc/resolv.conf', join(rootfs, 'etc/resolv.conf'));
  await inside(rootfs, ['apt-get', 'update', '-q']);
  await inside(rootfs, ['apt-get', '-y', '-q', 'upgrade']);
  await inside(rootfs, ['sh', '-c', clean]);
}

/**
 * @param {string} rootfs
 * @param {string[]} command
 */
async function inside(rootfs, command) {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' };
  const { code, output } = await runWithRetry(() => run('chroot', [rootfs, ...command], { env, deadline: aptTimeoutMs }));
  if (code !== 0) throw new SetupError(`The base image could not be built; ${command[0]} failed: ${lastError(output)}`, 'npm run images');
}

/** @param {string} rootfs */
async function store(rootfs) {
  const container = (await buildah(['from', '--pull=never', 'scratch'])).trim();
  try {
    // The runtime creates devices; pseudo file systems are empty.
    for (const name of readdirSync(join(rootfs, 'dev'))) rmSync(join(rootfs, 'dev', name), { recursive: true, force: true });
    await buildah(['add', '--quiet', container, rootfs, '/']);
    await buildah([
      'config',
      '--cmd',
      '["/bin/bash"]',
      '--env',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      container,
    ]);
    await buildah(['commit', '--quiet', '--timestamp=0', container, baseName]);
  } finally {
    await buildah(['rm', container]);
  }
}
