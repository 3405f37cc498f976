// Reading what clients send: JSON of bounded depth, in the envelope `{id, method, data}`.
import type { z } from 'zod';
import { ServiceError } from '../common/errors.ts';
import { validationMessage } from '../common/validation-messages.ts';
import { requestSchema, type SocketResponse } from './messages.ts';

export type Request = { id: number; method: string; data: Record<string, unknown> };
/** `refusal`: an answer for a request that is well framed, but may not be looked into. */
export type Frame = { request: Request; refusal?: SocketResponse };

/** What a frame asks; undefined where it is no JSON or no request with an id and a method. */
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

/** Data of a request as its schema says. @throws ServiceError `invalid_field` with a sentence that names the field. */
export function parseData<Schema extends z.ZodType>(schema: Schema, data: unknown): z.output<Schema> {
  const parsed = schema.safeParse(data);
  if (!parsed.success) throw new ServiceError('invalid_field', validationMessage(parsed.error, data, 'data'));
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

/** Walks level by level, since recursion is what deep input attacks. */
function isDeeperThan(value: unknown, depth: number): boolean {
  let level: unknown[] = [value];
  for (let left = depth; level.length > 0; left -= 1) {
    if (left < 0) return true;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}
