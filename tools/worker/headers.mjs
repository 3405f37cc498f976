// Precompiled headers of the mediasoup worker: compiled once for all files, because parsing them takes longer than compiling a file.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The header that Meson precompiles, relative to each folder. */
const header = 'precompiled/headers.hpp';

const standard = ['algorithm', 'deque', 'functional', 'limits', 'map', 'memory', 'optional', 'set', 'span', 'sstream', 'string', 'vector'];

/**
 * @typedef {object} Precompiled
 * @property {string} folder of a meson.build, relative to the worker's source
 * @property {string} target its lines in that file, starting with the name
 * @property {readonly string[]} system headers
 * @property {readonly string[]} own headers
 * @property {boolean} messages true if it includes the headers generated from the FlatBuffers schemas
 */

/** @type {readonly Precompiled[]} */
export const precompiled = [
  {
    folder: '.',
    target: "'mediasoup-worker',\n  build_by_default: true,",
    system: [...standard, 'ankerl/unordered_dense.h', 'uv.h'],
    own: [
      'common.hpp',
      'Channel/ChannelSocket.hpp',
      'RTC/BWE/BweTypes.hpp',
      'RTC/RTP/Packet.hpp',
      'RTC/RtpDictionaries.hpp',
      'RTC/SCTP/packet/Packet.hpp',
      'Settings.hpp',
      'SharedInterface.hpp',
      'Utils.hpp',
    ],
    messages: true,
  },
  {
    folder: join('deps', 'libwebrtc'),
    target: "'libwebrtc',\n  libwebrtc_sources,",
    system: [...standard, 'absl/types/optional.h', 'absl/memory/memory.h'],
    own: ['common.hpp'],
    messages: false,
  },
];

/**
 * @param {string} mesonBuild content of a meson.build
 * @param {string} target its lines in that file, starting with the name
 * @param {string} path of a header
 * @returns {string | undefined} undefined if the target is not found
 */
export function withPrecompiledHeader(mesonBuild, target, path) {
  const parts = mesonBuild.split(`(\n  ${target}\n`);
  return parts.length === 2 ? parts.join(`(\n  ${target}\n  cpp_pch: '${path}',\n`) : undefined;
}

/**
 * Makes Meson precompile these headers. An unknown source is left unchanged: its build takes longer.
 * @param {string} source folder of the worker's source, which is changed
 */
export function precompileHeaders(source) {
  const schemas = readdirSync(join(source, 'fbs')).filter((name) => name.endsWith('.fbs'));
  const messages = schemas.map((name) => `FBS/${name.replace(/fbs$/, 'h')}`);
  for (const { folder, target, system, own, messages: withMessages } of precompiled) {
    const file = join(source, folder, 'meson.build');
    const there = own.every((name) => existsSync(join(source, 'include', name)));
    const changed = there ? withPrecompiledHeader(readFileSync(file, 'utf8'), target, header) : undefined;
    if (changed === undefined) continue;
    const lines = [
      ...system.map((name) => `#include <${name}>\n`),
      ...[...own, ...(withMessages ? messages : [])].map((name) => `#include "${name}"\n`),
    ];
    mkdirSync(join(source, folder, 'precompiled'));
    writeFileSync(join(source, folder, header), lines.join(''));
    writeFileSync(file, changed);
  }
}
