// React kit: checks of the React page example.

import type { Page } from 'playwright-core';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';

const deadline = 60_000;

/** Resolves when this number of remote videos advance. */
export async function playing(page: Page, count: number): Promise<void> {
  await eventuallyIn(
    page,
    async (wanted) => {
      const videos = [...document.querySelectorAll('section video')] as HTMLVideoElement[];
      const before = videos.map(({ currentTime }) => currentTime);
      await new Promise((resolve) => setTimeout(resolve, 300));
      return videos.filter((video, index) => video.videoWidth > 0 && video.currentTime > (before[index] ?? 0)).length === wanted;
    },
    count,
    deadline,
  );
}

/** Resolves when an element of the page contains the text. */
export async function shows(page: Page, selector: string, text: string): Promise<void> {
  await eventuallyIn(
    page,
    ([which, wanted]) => [...document.querySelectorAll(which)].some((each) => each.textContent?.includes(wanted)),
    [selector, text] as const,
    deadline,
  );
}

type Track = { id: string; type: string; paused: boolean };

/** Tracks of the connected peer with this name. A page that was loaded twice leaves a disconnected peer. */
async function tracksOf(api: ApiClient, name: string): Promise<Track[]> {
  const { peers } = (await api.get('/room/demo')).body.data;
  const peer = peers.find(({ metadata, status }: { metadata: string; status: string }) => metadata === name && status === 'connected');
  return peer?.tracks ?? [];
}

const isVideo = ({ type }: Track) => type === 'video';

/** Undefined if there is none. */
export async function cameraOf(api: ApiClient, name: string): Promise<Track | undefined> {
  return (await tracksOf(api, name)).find(isVideo);
}

/** Resolves when the camera has this paused state, and camera and microphone are each published once. */
export async function cameraPaused(api: ApiClient, name: string, paused: boolean): Promise<void> {
  let tracks: Track[] = [];
  const poll = async () => {
    tracks = await tracksOf(api, name);
    return tracks.find(isVideo)?.paused === paused && tracks.length === 2;
  };
  await eventually(() => `the camera of ${name} is ${paused ? 'off' : 'on'}: ${JSON.stringify(tracks)}`, poll, { within: deadline });
}
