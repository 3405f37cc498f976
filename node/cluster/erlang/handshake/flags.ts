// Distribution flags: capabilities in the handshake (Erlang/OTP, "Distribution Protocol", "Distribution Flags").

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

/** Flags that OTP 25 and this node require of every remote node. */
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
 * Flags that we send, including those required by OTP 26 and 27. Without atom cache and fragments every message is self-contained, so a
 * connection has no state that a remote node could fill.
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

/** Adds the flags that the shorthand of OTP 25 implies. */
export function expandFlags(sent: bigint): bigint {
  return (sent & flags.mandatory25) === 0n ? sent : sent | mandatoryFlags;
}

/** True if a node with these flags is compatible. */
export function hasMandatoryFlags(sent: bigint): boolean {
  return (expandFlags(sent) & mandatoryFlags) === mandatoryFlags;
}
