// RPCs as nodes of 0.7 request and serve them, for clusters of two versions during an upgrade. To be removed in 0.9.
import { operations } from '../../../api/operations/table.ts';
import { parameterNames } from '../../../api/parameters.ts';
import { peerSocketPath } from '../../../api/peer.ts';

/** Version of the RPCs that nodes report to each other. Nodes of 0.7, which report none, have version 1. */
export const rpcVersion = 2;

type Fields = Record<string, unknown>;
/** `toOld` and `toNew` convert results. `rest`: arguments after the path parameters; `body`: the inverse. */
type Legacy = {
  method: string;
  names: readonly string[];
  rest: (body: Fields) => unknown[];
  body: (rest: unknown[]) => unknown;
  toOld: (result: Fields) => unknown;
  toNew: (result: Fields) => unknown;
};
type Conversion = { method: string; data: unknown; result: (result: unknown) => unknown };

const same = <Value>(value: Value) => value;
const plain = {
  rest: (body: Fields | undefined) => (body === undefined ? [] : [body]),
  body: ([body]: unknown[]) => body,
  toOld: same,
  toNew: same,
};
const addressOf = (url: unknown) => String(url).slice(0, -peerSocketPath.length);
const urlOf = (address: unknown) => `${address}${peerSocketPath}`;
const foundPeer = {
  toOld: ({ peer, peer_websocket_url }: Fields) => ({ peer, address: addressOf(peer_websocket_url) }),
  toNew: ({ peer, address }: Fields) => ({ peer, peer_websocket_url: urlOf(address) }),
};

/** `room.<method>` had a tuple of arguments: the path parameters, then the body. */
function room(id: keyof typeof operations, method: string = id, more: Partial<Legacy> = {}): [string, Legacy] {
  return [`op.${id}`, { method: `room.${method}`, names: parameterNames(operations[id].path), ...plain, ...more } as Legacy];
}

/** By method of this version. */
const legacy = new Map<string, Legacy>([
  room('getRoom'),
  room('getRoomStats'),
  room('updateRoom', 'patchRoom'),
  room('deleteRoom'),
  room('addPeer', 'addPeer', {
    toOld: ({ created, data }) => ({ created, token: (data as Fields).token, ...foundPeer.toOld(data as Fields) }),
    toNew: ({ created, token, ...found }) => ({ created, data: { token, ...foundPeer.toNew(found) } }),
  }),
  room('getPeer', 'getPeer', foundPeer),
  room('updatePeer', 'patchPeer', foundPeer),
  room('deletePeer'),
  room('renewPeerToken', 'renewPeerToken', { toOld: ({ token }) => token, toNew: (token) => ({ token }) }),
  room('deleteTrack', 'removeTrack'),
  room('muteTrack', 'setTrackMuted', { rest: () => [true], body: () => undefined }),
  room('unmuteTrack', 'setTrackMuted', { rest: () => [false], body: () => undefined }),
  room('sendData'),
  room('addComponent', 'addComponent', {
    toOld: ({ created, data }) => ({ created, component: data }),
    toNew: ({ created, component }) => ({ created, data: component }),
  }),
  room('getComponent'),
  room('deleteComponent'),
  room('subscribeComponent', 'subscribeComponent', { rest: ({ origins }) => [origins], body: ([origins]) => ({ origins }) }),
  room('startCall'),
  room('endCalls', 'endCalls', { rest: () => [null], body: () => undefined }),
  room('endCall', 'endCalls'),
  room('sendDigits', 'sendDigits', { rest: ({ digits }) => [digits], body: ([digits]) => ({ digits }) }),
]);

const byOldMethod = Map.groupBy(legacy, ([, { method }]) => method);

/** Of RPCs that have the same fields under another name, or a tuple instead of fields. */
const others: Record<string, { method: string; args: (input: Fields) => unknown; input: (args: unknown, self: string) => unknown }> = {
  createLocalRoom: {
    method: 'room.createRoom',
    args: ({ options, reservation }) => [options, reservation],
    input: (args) => ({ options: listOf(args)[0], reservation: listOf(args)[1] }),
  },
  listLocalRooms: { method: 'room.listRooms', args: (page) => [page], input: (args) => listOf(args)[0] },
  'op.getDrain': { method: 'drainView', args: () => null, input: (_, nodeName) => ({ params: { nodeName } }) },
  'op.drainNode': { method: 'drain', args: ({ body }) => body, input: (body, nodeName) => ({ params: { nodeName }, body }) },
  'op.cancelDrain': { method: 'cancelDrain', args: () => null, input: (_, nodeName) => ({ params: { nodeName } }) },
};
const othersByOldMethod = new Map(Object.entries(others).map(([method, each]) => [each.method, { ...each, method }]));

/** How a node of 0.7 is asked. @returns undefined if nothing has changed */
export function toLegacy(method: string, input: unknown): Conversion | undefined {
  const other = others[method];
  if (other) return { method: other.method, data: other.args(input as Fields), result: same };
  const known = legacy.get(method);
  if (!known) return undefined;
  const { params, body } = input as { params: Record<string, string>; body: Fields };
  const data = [...known.names.map((name) => params[name]), ...known.rest(body)];
  return { method: known.method, data, result: (result) => (result === null ? null : known.toNew(result as Fields)) };
}

/** What a request of a node of 0.7 means. @returns undefined if nothing has changed, or the method never existed */
export function fromLegacy(method: string, data: unknown, self: string): Conversion | undefined {
  const other = othersByOldMethod.get(method);
  if (other) return { method: other.method, data: other.input(data, self), result: same };
  const args = listOf(data);
  const known = byOldMethod.get(method)?.find(([id, { names }]) => fits(id, args, names.length));
  if (!known) return undefined;
  const [current, { names, body, toOld }] = known;
  const params = Object.fromEntries(names.map((name, index) => [name, args[index]]));
  const result = (value: unknown) => (value === undefined || value === null ? null : toOld(value as Fields));
  return { method: current, data: { params, body: body(args.slice(names.length)) }, result };
}

/** Two operations of today were one method with an argument that selected the effect. */
function fits(id: string, args: readonly unknown[], names: number): boolean {
  if (id === 'op.muteTrack') return args[names] === true;
  if (id === 'op.endCall') return args[names - 1] !== null;
  if (id === 'op.endCalls') return args[names] === null;
  return true;
}

function listOf(data: unknown): unknown[] {
  return Array.isArray(data) ? data : [];
}
