// docs/reference/protocol.md: each frame is valid, every method and event has an example, and its limits are the effective ones.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Method, requestSchema, requestSchemas, responseSchema, responseSchemas } from '../../../api/socket/peer.ts';
import { type PeerEvent, peerEventSchema } from '../../../api/socket/peer-events.ts';
import {
  checkDtlsParameters,
  checkRtpCapabilities,
  checkRtpParameters,
  checkSctpStreamParameters,
} from '../../../node/media/parameters.ts';
import { defaultLimits } from '../../../node/signaling/limits.ts';
import { root } from '../../../tools/paths.mjs';

const page = readFileSync(join(root, 'docs/reference/protocol.md'), 'utf8');
type Frame = { id?: number; method?: Method; event?: PeerEvent['event']; data?: Record<string, unknown> };
const frames = [...page.matchAll(/^```json\n(.*?)^```/gms)].flatMap(([, block = '']) =>
  block
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Frame),
);
const methods = new Map(frames.flatMap(({ id, method }) => (id !== undefined && method !== undefined ? [[id, method] as const] : [])));

test('every example is a frame of the protocol without unknown fields', () => {
  assert.ok(frames.length > 50);
  for (const frame of frames) {
    if (frame.event !== undefined) {
      assert.deepEqual(peerEventSchema.parse(frame), frame);
    } else if (frame.method !== undefined) {
      requestSchema.parse(frame);
      requestSchemas[frame.method].parse(frame.data);
    } else {
      const method = methods.get(frame.id ?? -1);
      assert.deepEqual(responseSchema.parse(frame), frame);
      if (method) assert.deepEqual(responseSchemas[method].parse(frame.data), frame.data);
    }
  }
});

test('every method has an example of its request and response, every event has one', () => {
  const answered = new Set(frames.flatMap(({ id, method, event }) => (method || event ? [] : (methods.get(id ?? -1) ?? []))));
  assert.deepEqual([...methods.values()].sort(), Object.keys(requestSchemas).sort());
  assert.deepEqual([...answered].sort(), Object.keys(requestSchemas).sort());
  const events = new Set(frames.flatMap(({ event }) => event ?? []));
  assert.deepEqual([...events].sort(), peerEventSchema.options.map((option) => option.shape.event.value).sort());
});

test('media objects of the examples pass validation', () => {
  const data = (method: Method) => frames.find((frame) => frame.method === method)?.data ?? {};
  checkRtpCapabilities(data('join').rtpCapabilities);
  checkDtlsParameters(data('connectTransport').dtlsParameters);
  checkRtpParameters(data('publish').rtpParameters, 'audio', new Set());
  checkSctpStreamParameters(data('publishData').sctpStreamParameters);
});

test('the limits of the page are the effective ones', () => {
  const row = (what: string) => page.split('\n').find((line) => line.startsWith(`| ${what} |`)) ?? '';
  const { authenticationTimeout, firstMessageBytes, messageBytes, payloadBytes, burst, bytesPerMessage } = defaultLimits;
  assert.equal(row('time to authenticate'), `| time to authenticate | ${authenticationTimeout / 1000} s | 4408 |`);
  assert.equal(row('first message'), `| first message | ${firstMessageBytes / 1024} KiB | 4413 |`);
  assert.ok(row('any other message').includes(`${messageBytes / 1024} KiB; ${payloadBytes / 1024 / 1024} MiB`));
  assert.equal(burst, 4);
  assert.ok(row('messages a second').includes(`each ${bytesPerMessage / 1024} KiB`));
  assert.ok(row('queued requests').includes(`${defaultLimits.waitingRequests}, of ${defaultLimits.waitingBytes / 1024 / 1024} MiB`));
  const { heldRequests, heldBytes } = defaultLimits;
  assert.ok(row('held requests of a peer that waits to be admitted').includes(`${heldRequests}, of ${heldBytes / 1024} KiB`));
  assert.ok(row('nesting of JSON').includes(`${defaultLimits.depth} levels`));
  assert.ok(row('unread frames of the server').includes(`${defaultLimits.bufferedBytes / 1024 / 1024} MiB`));
  assert.equal(defaultLimits.freeAnswersPerOffer, 3);
  assert.ok(page.includes('at most 1,000 frames or 4 MiB'));
  assert.deepEqual([defaultLimits.unacknowledgedFrames, defaultLimits.unacknowledgedBytes], [1000, 4 * 1024 * 1024]);
});
