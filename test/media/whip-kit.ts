// Encoders and players of WHIP and WHEP tests: programs, and requests as they send them.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { assertColor, assertNear, audioSamples, colors, decode } from '../kit/media/recorded-file.ts';
import { green } from '../kit/media/sources.ts';

export const fragmentType = 'application/trickle-ice-sdpfrag';

export async function addPeer(api: ApiClient, options: object = {}): Promise<{ id: string; token: string }> {
  const { status, body } = await api.post('/room/r/peer', { type: 'webrtc', ...options });
  assert.equal(status, 201, JSON.stringify(body));
  return { id: body.data.peer.id, token: body.data.token };
}

export type Program = { stop: () => Promise<void>; output: () => string };

/** An encoder or a player; `signal` makes it end its session and exit. */
export function startProgram(t: TestContext, program: string, args: readonly string[], signal: NodeJS.Signals, env = process.env): Program {
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = once(child, 'close').then(([code]) => code as number | null);
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const stop = async () => {
    child.kill(signal);
    assert.equal(await ended, 0, output);
  };
  return { stop, output: () => output };
}

/** Waits until a file is larger than this number of bytes. A failure shows the output of the programs. */
export async function untilSize(path: string, bytes: number, programs: readonly Program[], within?: number): Promise<void> {
  const size = async () => (await stat(path).catch(() => undefined))?.size ?? 0;
  const what = () => `${path} has ${bytes} bytes\n${programs.map(({ output }) => output()).join('\n')}`;
  await eventually(what, async () => (await size()) > bytes, { within });
}

/** Asserts that files contain what makeTracks() creates: green video with a moving box, and the tone. */
export async function assertPlayed({ video, audio }: { video: string; audio: string }, frequency: number): Promise<void> {
  const frames = await colors(video);
  assert.ok(frames.length > 20, `${frames.length} frames`);
  for (const frame of frames) assertColor(frame, green);
  assert.ok((await movingFrames(video)) > 0.9, 'the box moves in almost every frame');
  assertNear((await audioSamples(audio)).frequency, frequency, 5, 'the tone');
}

/** The part of the frames that differ from the frame before. */
export async function movingFrames(path: string): Promise<number> {
  const width = 64;
  const raw = ['-pix_fmt', 'gray', '-vsync', 'passthrough', '-f', 'rawvideo', '-'];
  const pixels = await decode(path, ['-vf', `scale=${width}:1:flags=area`, ...raw]);
  const frames = Array.from({ length: pixels.length / width }, (_, index) => pixels.subarray(index * width, (index + 1) * width));
  const moved = frames.filter((frame, index) => index > 0 && !frame.equals(frames[index - 1] as Buffer));
  return moved.length / (frames.length - 1);
}

export type Sent = { token?: string | undefined; body?: string; headers?: Record<string, string> };

/** Requests as an encoder or a player sends them. */
export function clientOf({ url }: { url: string }) {
  return async (method: string, path: string, { token, body, headers = {} }: Sent = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      ...(body !== undefined && { body }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

export const offerOf = (text: string): Sent => ({ body: text, headers: { 'content-type': 'application/sdp' } });
