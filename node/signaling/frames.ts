// Frame parser: reads JSON of bounded depth in the envelope `{id, method, data}`.
import type { z } from 'zod';
import { invalidFieldError } from '../../api/derive/validation-messages.ts';
import { ServiceError } from '../../api/errors.ts';
import { requestSchema, type SocketResponse } from '../../api/socket/peer.ts';

export type Request = { id: number; method: string; data: Record<string, unknown> };
/** `refusal`: response to a request with a valid envelope whose data must not be parsed. */
export type Frame = { request: Request; refusal?: SocketResponse };

/** The request in a frame; undefined if it is not JSON or not a request with an id and a method. */
export function parseRequest(text: string, maxDepth: number): Frame | undefined {
  const parsed = requestSchema.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { id, method, data = {} } = parsed.data;
  const request = { id, method, data };
  if (!isDeeperThan(data, maxDepth)) return { request };
  return {
    request,
    refusal: errorResponse(id, new ServiceError('bad_request', `Expected data to be nested at most ${maxDepth} levels deep`)),
  };
}

/** Validates the data of a request. @throws ServiceError `invalid_field` with a message that names the field. */
export function parseData<Schema extends z.ZodType>(schema: Schema, data: unknown): z.output<Schema> {
  const parsed = schema.safeParse(data);
  if (!parsed.success) throw invalidFieldError(parsed.error, data, 'data');
  return parsed.data;
}

export function errorResponse(id: number, error: ServiceError): SocketResponse {
  return { id, ok: false, error: { code: error.code, message: error.message } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Iterates level by level, because deep input would overflow recursion. */
function isDeeperThan(value: unknown, depth: number): boolean {
  let level: unknown[] = [value];
  for (let left = depth; level.length > 0; left -= 1) {
    if (left < 0) return true;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}
