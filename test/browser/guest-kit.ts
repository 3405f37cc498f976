// Guest kit: guests of a room on one node.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Environment } from '../../node/env.ts';
import type { apiClient } from '../kit/answers/api-client.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { type StartedNode, startNode } from '../kit/processes/start-node.ts';
import { byId, type ConsolePage, deadline, openConsole } from './console-kit.ts';

export type Hosted<Node extends { url: string } = StartedNode> = {
  node: Node;
  api: ReturnType<typeof apiClient>;
  roomId: string;
  /** A link for another guest, at the URL of the node or at `base`, which leads to it. */
  invite: (base?: string) => Promise<{ link: string; peerId: string }>;
};

/** Starts a node and creates a room. */
export async function hostRoom(t: TestContext, env: Environment = {}): Promise<Hosted> {
  const node = await startNode(t, env);
  return hostOn(node, node.api);
}

export async function hostOn<Node extends { url: string }>(
  node: Node,
  api: ReturnType<typeof apiClient>,
  roomId = 'meeting',
): Promise<Hosted<Node>> {
  assert.equal((await api.post('/room', { roomId })).status, 201);
  const invite: Hosted['invite'] = async (base = node.url) => {
    const { status, body } = await api.post(`/room/${roomId}/peer`, { type: 'webrtc' });
    assert.equal(status, 201);
    const query = new URLSearchParams({
      room: roomId,
      token: body.data.token,
      url: `${base.replace(/^http/, 'ws')}/socket/peer/websocket`,
    });
    return { link: `${base}/#/join?${query}`, peerId: body.data.peer.id };
  };
  return { node, api, roomId, invite };
}

export type Guest = ConsolePage & { peerId: string };
/** `red`: label of a camera that is painted red. `base`: URL that leads to the node. */
export type GuestOptions = BrowserContextOptions & { red?: string; base?: string };

/** Opens a guest link in the lobby. */
export async function openGuest(browser: Browser, hosted: Pick<Hosted, 'invite'>, options: GuestOptions = {}): Promise<Guest> {
  const { base, red, ...window } = options;
  const { link, peerId } = await hosted.invite(base);
  const opened = await openConsole(browser, red === undefined ? link : 'about:blank', window);
  if (red !== undefined) {
    await paintCamera(opened.page, red);
    await opened.page.goto(link);
  }
  await opened.page.waitForSelector(byId('guest-name'));
  return { ...opened, peerId };
}

export async function joinAs(page: Page, name: string): Promise<void> {
  await page.fill(byId('guest-name'), name);
  await page.click(byId('guest-join'));
  await page.waitForSelector(`${byId('status')}[data-state="joined"]`);
}

/** Resolves when the video has a color for which `fits` is true, an expression of `red`, `green` and `blue` from 0 to 255. */
export async function seesColour(page: Page, selector: string, fits: string): Promise<void> {
  await eventuallyIn(
    page,
    `(() => {
      const video = document.querySelector(${JSON.stringify(`${selector} video`)});
      if (!video || video.videoWidth === 0) return false;
      const canvas = document.createElement('canvas');
      canvas.width = canvas.height = 1;
      const context = canvas.getContext('2d', { willReadFrequently: true });
      context.drawImage(video, 0, 0, 1, 1);
      const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
      return ${fits};
    })()`,
  );
}

/** The first fake camera of Chromium. */
export const isGreen = 'green - red > 60 && green - blue > 60';
/** The second fake camera, in a format that no encoder supports. */
export const isGrey = 'Math.abs(green - red) < 30 && Math.abs(green - blue) < 30';
export const isRed = 'red - green > 60 && red - blue > 60';

/** Paints the camera with this label red from the next page load on, because all others are green. The camera is still opened. */
async function paintCamera(page: Page, label: string): Promise<void> {
  await page.addInitScript({
    content: `(() => {
      const devices = navigator.mediaDevices;
      const open = devices.getUserMedia.bind(devices);
      devices.getUserMedia = async (constraints) => {
        const stream = await open(constraints);
        const [camera] = stream.getVideoTracks();
        if (camera?.label !== ${JSON.stringify(label)}) return stream;
        const canvas = document.createElement('canvas');
        canvas.width = 640;
        canvas.height = 360;
        const context = canvas.getContext('2d');
        let turn = 0;
        const timer = setInterval(() => {
          context.fillStyle = 'rgb(200 20 20)';
          context.fillRect(0, 0, 640, 360);
          context.fillStyle = 'rgb(230 60 60)';
          context.fillRect((turn = (turn + 9) % 640), 0, 60, 360);
        }, 40);
        const [red] = canvas.captureStream(25).getVideoTracks();
        const stop = red.stop.bind(red);
        red.stop = () => {
          clearInterval(timer);
          camera.stop();
          stop();
        };
        red.getSettings = () => camera.getSettings();
        return new MediaStream([red, ...stream.getAudioTracks()]);
      };
    })()`,
  });
}

/** Resolves when the condition is true. */
export async function waitUntil(holds: () => Promise<boolean>, what: string): Promise<void> {
  await eventually(what, holds, { within: deadline });
}
