// HLS viewers without a browser: one follows a live stream and validates every playlist, one downloads a stored stream.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from '../eventually.ts';
import { makeResources } from '../processes/resources-folder.ts';
import { type CheckedPlaylist, checkPlaylist, checkUpdate } from './hls-conformance.ts';
import { probeAll } from './recorded-file.ts';

const deadline = 60_000;

export type Follower = {
  /** All received playlists. */
  playlists: CheckedPlaylist[];
  /** Maximum milliseconds between two playlists. */
  maxWait: number;
};

/**
 * Loads a blocking playlist. The server holds the request for at most three target durations (section 6.2.5.2). On a busy machine the
 * composer may need longer, so it is requested again, as players do.
 */
export async function playlistAt(address: string | URL): Promise<string> {
  const url = new URL(address);
  return eventually(
    `the stream of ${url.pathname} continues`,
    async () => {
      const answer = await fetch(url, { signal: AbortSignal.timeout(deadline) });
      const text = await answer.text();
      if (answer.status === 503 && text.includes('The stream has stalled')) return undefined;
      assert.equal(answer.status, 200, `${url.search.replace(/token=[^&]+/, '')}: ${text}`);
      return text;
    },
    { within: deadline },
  );
}

/** Follows a low-latency stream, part by part, until `done`. `address`: media playlist with token. */
export async function follow(address: string, done: (playlist: CheckedPlaylist) => boolean): Promise<Follower> {
  const playlists: CheckedPlaylist[] = [];
  let maxWait = 0;
  let last = performance.now();
  for (let before: CheckedPlaylist | undefined; ; ) {
    const url = new URL(address);
    if (before) {
      const number = before.segments.at(-1)?.number ?? before.mediaSequence;
      const open = [...before.parts.keys()].filter((each) => each > number).at(-1);
      url.searchParams.set('_HLS_msn', String(open ?? number + 1));
      url.searchParams.set('_HLS_part', String(open === undefined ? 0 : (before.parts.get(open)?.length ?? 0)));
      if (playlists.length % 2 === 0) url.searchParams.set('_HLS_skip', 'YES');
    }
    const playlist = checkPlaylist(await playlistAt(url));
    maxWait = Math.max(maxWait, performance.now() - last);
    last = performance.now();
    if (before) checkUpdate(before, playlist);
    playlists.push(playlist);
    before = playlist;
    if (done(playlist)) return { playlists, maxWait };
  }
}

/** Downloads a stored stream. `address`: multivariant playlist, with or without token. @returns the path of its media playlist on disk */
export async function download(t: TestContext, address: string, headers: Record<string, string> = {}): Promise<string> {
  const folder = await makeResources(t);
  const get = async (url: URL) => {
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(deadline) });
    assert.equal(answer.status, 200, url.pathname);
    return Buffer.from(await answer.arrayBuffer());
  };
  const index = (await get(new URL(address))).toString();
  const media = index.split('\n').find((line) => line !== '' && !line.startsWith('#')) ?? '';
  const mediaAddress = new URL(media, address);
  const text = (await get(mediaAddress)).toString();
  assert.match(text, /#EXT-X-PLAYLIST-TYPE:VOD\n.*#EXT-X-ENDLIST\n$/s);
  checkPlaylist(text);
  const names = [...text.matchAll(/^#EXT-X-MAP:URI="([^"]+)"|^([^#\n]+)$/gm)].map(([, init, segment]) => init ?? segment ?? '');
  for (const name of names) await writeFile(join(folder, name.split('?')[0] ?? ''), await get(new URL(name, mediaAddress)));
  const path = join(folder, 'stream.m3u8');
  await writeFile(path, text.replaceAll(/\?token=[^"\n]+/g, ''));
  return path;
}

/** Streams of a file according to ffprobe. */
export async function streamsOf(path: string): Promise<{ codec: string; width?: number; height?: number; rate?: string }[]> {
  const { streams } = await probeAll(path);
  return streams.map(({ codec_name: codec, width, height, r_frame_rate: rate }) => ({
    codec,
    ...(width !== undefined && { width, rate }),
    ...(height !== undefined && { height }),
  }));
}
