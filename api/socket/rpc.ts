// RPCs of peers: a peer or a backend requests something of a connected peer, whose application responds.
import { z } from 'zod';
import { jsonSchema } from '../json.ts';

/** Maximum time in seconds. */
export const maxRpcTimeout = 60;

export const rpcRequestSchema = z
  .strictObject({
    method: z.string().min(1).max(64).meta({ description: 'Name that the application of the peer handles.' }),
    payload: jsonSchema,
    timeout: z.int().min(1).max(maxRpcTimeout).default(10).meta({ description: 'Seconds to wait for the response.' }),
  })
  .meta({ id: 'RpcRequest', description: 'A request that the application of a peer responds to.' });
export type RpcRequest = z.infer<typeof rpcRequestSchema>;

export const rpcResponseSchema = z.object({ payload: jsonSchema }).meta({ id: 'RpcResponse' });
