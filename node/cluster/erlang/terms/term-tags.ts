// Tags of the external term format (Erlang/OTP, ERTS user's guide, "External Term Format").

/** Precedes every top-level term. */
export const versionByte = 131;

export const tags = {
  newFloat: 70,
  bitBinary: 77,
  newPid: 88,
  newPort: 89,
  newerReference: 90,
  smallInteger: 97,
  integer: 98,
  atom: 100,
  port: 102,
  pid: 103,
  smallTuple: 104,
  largeTuple: 105,
  nil: 106,
  string: 107,
  list: 108,
  binary: 109,
  smallBig: 110,
  largeBig: 111,
  newFun: 112,
  export: 113,
  newReference: 114,
  smallAtom: 115,
  map: 116,
  atomUtf8: 118,
  smallAtomUtf8: 119,
  v4Port: 120,
} as const;
