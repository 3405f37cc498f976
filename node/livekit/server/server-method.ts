// Methods of LiveKit's server API: each has a request message, and a handler on operations of rooms. Decodes requests, encodes responses.
import type { BinaryBody } from '../../../api/core/operation.ts';
import type { HttpResponse } from '../../../api/core/response.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { PeerSubscriptions } from '../../../api/operations/livekit-rpcs.ts';
import type { RoomOptions } from '../../../api/room.ts';
import type { OperationRunner } from '../../rooms/services/operations.ts';
import type { ServerAccess } from '../../rooms/tokens/server-access.ts';
import type { Agents } from '../agents/agents.ts';

export type ServerContext = {
  operations: OperationRunner;
  access: ServerAccess;
  agents: Pick<Agents, 'dispatch' | 'deleteDispatch' | 'listDispatches'>;
  /** At the owning node of the room. */
  updateSubscriptions: (update: PeerSubscriptions) => Promise<void>;
  /** Resolves when a node has the room. */
  createRoom: (options: RoomOptions & { roomId: string }) => Promise<void>;
};
export type ServerMethod = (context: ServerContext, body: BinaryBody) => Promise<HttpResponse>;
/** By service and name: `livekit.RoomService/CreateRoom`. */
export type ServerMethods = Readonly<Record<string, ServerMethod>>;

type JsonOptions = { emitDefaultValues: boolean; useProtoFieldName: boolean };
type ResponseMessage = { toBinary(): Uint8Array; toJson(options: JsonOptions): unknown };
type RequestType<Request> = {
  readonly typeName: string;
  fromBinary(bytes: Uint8Array): Request;
  fromJson(json: never, options: { ignoreUnknownFields: boolean }): Request;
};

/** As LiveKit's server encodes messages. */
const jsonOptions: JsonOptions = { emitDefaultValues: true, useProtoFieldName: true };

export function serverMethod<Request>(
  type: RequestType<Request>,
  handle: (context: ServerContext, request: Request) => Promise<ResponseMessage>,
): ServerMethod {
  return async (context, body) => {
    const response = await handle(context, decode(type, body));
    if ('json' in body) return { status: 200, json: response.toJson(jsonOptions) };
    return { status: 200, bytes: Buffer.from(response.toBinary()), headers: { 'content-type': 'application/protobuf' } };
  };
}

/** `message`: what to use instead. */
export function notImplemented(message: string): ServerMethod {
  return async () => {
    throw new ServiceError('not_implemented', message);
  };
}

/** @throws ServiceError `bad_request` */
function decode<Request>(type: RequestType<Request>, body: BinaryBody): Request {
  try {
    return 'json' in body ? type.fromJson(body.json as never, { ignoreUnknownFields: true }) : type.fromBinary(body.bytes);
  } catch (cause) {
    throw new ServiceError('bad_request', `The body is not a message ${type.typeName}`, { cause });
  }
}
