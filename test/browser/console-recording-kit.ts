// Recording kit: real recordings of a green video and a tone, hand-written reports, and checks of the player.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { addComponent, withSources } from '../kit/media/sources.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { byId } from './console-kit.ts';

/** A node with room `r`, in which a green video and a tone are recorded. */
export async function startRecording(t: TestContext, env: Record<string, string> = {}) {
  const resources = await withSources(t, 30);
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'file recording', SVC_RESOURCES_BASE_PATH: resources, ...env });
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  const recorder = await addComponent(api, 'recording');
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  const stop = async () => assert.equal((await api.delete(`/room/r/component/${recorder}`)).status, 204);
  return { node, api, resources, id, stop };
}

/** Resolves when both tracks are recorded for this number of milliseconds. */
export async function waitForTracks(api: ApiClient, id: string, length: number): Promise<void> {
  const areThere = async () => {
    const { tracks } = (await api.get(`/recording/${id}`)).body as { tracks: { startTime?: string }[] };
    const begun = Date.now() - length;
    // On a busy machine a track starts long after its recording.
    return tracks.filter(({ startTime }) => startTime && Date.parse(startTime) < begun).length === 2;
  };
  await eventually('both tracks are recorded', areThere, { every: 100 });
}

/** Resolves when the player advances and shows green. */
export async function seesGreen(page: Page): Promise<void> {
  await eventuallyIn(
    page,
    `(() => {
      const media = document.querySelector('${byId('media')}');
      if (!media || !media.videoWidth || media.currentTime < 0.3) return false;
      const canvas = document.createElement('canvas');
      canvas.width = 1;
      canvas.height = 1;
      const context = canvas.getContext('2d');
      context.drawImage(media, media.videoWidth / 4, media.videoHeight / 4, 8, 8, 0, 0, 1, 1);
      const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
      return Math.abs(red - 30) < 40 && Math.abs(green - 200) < 40 && Math.abs(blue - 30) < 40;
    })()`,
  );
}

/** Resolves when the loudest frequency of the player is this one. */
export async function hears(page: Page, frequency: number): Promise<void> {
  await page.evaluate(`(() => {
    const context = new AudioContext();
    window.heard = new AnalyserNode(context, { fftSize: 8192 });
    const media = document.querySelector('${byId('media')}');
    // Independent of when the check runs.
    media.loop = true;
    void media.play();
    context.createMediaElementSource(media).connect(window.heard);
    window.heard.connect(new GainNode(context, { gain: 0 })).connect(context.destination);
    void context.resume();
  })()`);
  await eventuallyIn(
    page,
    `(() => {
      const levels = new Float32Array(window.heard.frequencyBinCount);
      window.heard.getFloatFrequencyData(levels);
      const best = levels.reduce((top, level, index) => (level > levels[top] ? index : top), 1);
      return levels[best] > -60 && Math.abs((best * window.heard.context.sampleRate) / 8192 - ${frequency}) < 15;
    })()`,
  );
}

const startOf = (index: number) => new Date(Date.UTC(2026, 0, 1) + index * 60_000);
export const idOf = (room: string, index: number) => `${room}-${startOf(index).toISOString().replaceAll(/[-:.]/g, '')}`;
/** Report of a one-minute recording, which starts `index` minutes after a fixed time. */
export const reportOf = (room: string, index: number, more: object = {}) => ({
  id: idOf(room, index),
  type: 'recording',
  roomId: room,
  node: 'svc@somewhere',
  state: 'finished',
  startTime: startOf(index).toISOString(),
  endTime: startOf(index + 1).toISOString(),
  tracks: [],
  ...more,
});
/** The file of the report in a resources folder. */
export const fileOf = (report: { id: string }) => ({ [`recordings/${report.id}/report.json`]: JSON.stringify(report) });

export const madeTrack = {
  trackId: 't',
  file: 'a.webm',
  type: 'video',
  encoding: 'vp8',
  origin: { peerId: 'p' },
  metadata: null,
  offset: 300,
  duration: 4_000,
};
