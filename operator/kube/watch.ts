// Watch: reads the events of one stream with an idle timeout.
import type { Readable } from 'node:stream';
import { Deadline } from './http/deadline.ts';
import { JsonLines } from './http/json-lines.ts';
import { clientError } from './http/kube-error.ts';
import { describeRequest, invalidResponse, type RequestInfo, readWatchEvent, type WatchEvent } from './http/responses.ts';
import { toConnectionError } from './http/transport.ts';

/** An object has at most 1.5 MB in etcd; JSON escapes and old managedFields make it longer. */
const maxLineBytes = 16 * 2 ** 20;

/** Resolves when the stream ends normally. @throws KubeError of an ERROR event, 'Stalled', 'Unreachable' or 'BadAnswer' */
export async function readWatch(options: {
  call: RequestInfo;
  open: (signal: AbortSignal) => Promise<Readable>;
  signals: readonly AbortSignal[];
  idleMs: number;
  onEvent: (event: WatchEvent) => void;
}): Promise<void> {
  const { call, open, idleMs, onEvent } = options;
  const stalled = () => clientError('Stalled', `The API server sent nothing for ${idleMs} ms (${describeRequest(call)}).`);
  const idle = new Deadline(idleMs, stalled, options.signals);
  try {
    await follow(call, await open(idle.signal), idle, onEvent);
  } finally {
    idle.end();
  }
}

async function follow(requestInfo: RequestInfo, body: Readable, idle: Deadline, onEvent: (event: WatchEvent) => void): Promise<void> {
  const lines = new JsonLines(maxLineBytes);
  const end = () => body.destroy(new Error('the watch was ended'));
  idle.signal.addEventListener('abort', end);
  if (idle.signal.aborted) end();
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    for (;;) {
      const { done, value } = await chunks.next().catch((error: unknown) => {
        throw toConnectionError(requestInfo, error, idle.signal);
      });
      if (done === true) return;
      idle.refresh();
      for (const json of wellFormed(requestInfo, lines.take(value))) {
        // Events received before an abort are not delivered after it.
        idle.signal.throwIfAborted();
        onEvent(readWatchEvent(requestInfo, json));
      }
    }
  } finally {
    idle.signal.removeEventListener('abort', end);
    body.destroy();
  }
}

function* wellFormed(requestInfo: RequestInfo, values: Generator<unknown>): Generator<unknown> {
  for (;;) {
    let next: IteratorResult<unknown>;
    try {
      next = values.next();
    } catch (error) {
      throw invalidResponse(
        requestInfo,
        error instanceof RangeError ? `sent a watch event of more than ${maxLineBytes} bytes` : 'sent a line of invalid JSON',
      );
    }
    if (next.done === true) return;
    yield next.value;
  }
}
