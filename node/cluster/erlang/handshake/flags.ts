// The capabilities that nodes tell each other in the handshake (Erlang/OTP, "Distribution Protocol", "Distribution Flags").

export const flags = {
  published: 1n << 0n,
  extendedReferences: 1n << 2n,
  monitors: 1n << 3n,
  funTags: 1n << 4n,
  monitorsOfNames: 1n << 5n,
  newFunTags: 1n << 7n,
  extendedPidsAndPorts: 1n << 8n,
  exportTag: 1n << 9n,
  bitBinaries: 1n << 10n,
  newFloats: 1n << 11n,
  unicodeIo: 1n << 12n,
  smallAtomTags: 1n << 14n,
  utf8Atoms: 1n << 16n,
  maps: 1n << 17n,
  bigCreation: 1n << 18n,
  exitPayload: 1n << 22n,
  handshake23: 1n << 24n,
  unlinkIds: 1n << 25n,
  mandatory25: 1n << 26n,
  spawn: 1n << 32n,
  nameMe: 1n << 33n,
  v4Containers: 1n << 34n,
  alias: 1n << 35n,
} as const;

/** What OTP 25 demands of every peer, and we as well. */
export const mandatoryFlags =
  flags.extendedReferences |
  flags.funTags |
  flags.newFunTags |
  flags.extendedPidsAndPorts |
  flags.exportTag |
  flags.bitBinaries |
  flags.newFloats |
  flags.utf8Atoms |
  flags.maps |
  flags.bigCreation |
  flags.handshake23;

/**
 * What we offer: also what OTP 26 and 27 demand. Without the atom cache and without fragments every message is a
 * control term and a message term that stand for themselves, so a connection has no state that a peer could fill.
 */
export const ownFlags =
  mandatoryFlags |
  flags.mandatory25 |
  flags.v4Containers |
  flags.unlinkIds |
  flags.published |
  flags.monitors |
  flags.monitorsOfNames |
  flags.unicodeIo |
  flags.smallAtomTags |
  flags.exitPayload |
  flags.spawn |
  flags.alias;

/** Flags as sent, with those that the shorthand of OTP 25 stands for. */
export function expandFlags(sent: bigint): bigint {
  return (sent & flags.mandatory25) === 0n ? sent : sent | mandatoryFlags;
}

/** Whether a node with these flags can talk to us. */
export function hasMandatoryFlags(sent: bigint): boolean {
  return (expandFlags(sent) & mandatoryFlags) === mandatoryFlags;
}
