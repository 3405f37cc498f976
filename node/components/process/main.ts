// Entry of every component process: runs the role that the node passes as argument.
import type { Role } from './component-process.ts';

/** Loaded on demand: only some roles need the codec library. They accept commands when they are loaded. */
const roles: Readonly<Record<Role, () => Promise<void>>> = {
  compose: async () => (await import('../hls/hls-process.ts')).compose(),
  record: async () => (await import('../recording/recording-process.ts')).record(),
  render: async () => (await import('../render/render-process.ts')).render(),
  sip: async () => (await import('../sip/sip-process.ts')).runUserAgent(),
};

await roles[process.argv[2] as Role]();
