// A peer that is moved to another media worker while its uplink carries little more than what it sends, in Chromium.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventuallyIn, startBrowser } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { makeNamespace, mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { splitRooms } from '../kit/processes/start-node.ts';
import { enter, type PagePeer, red, startClientFixture } from './client-kit.ts';
import { moveWithoutGap, publish, tones } from './move-kit.ts';

const options = { skip: mayMakeNamespaces ? false : 'network namespaces need root' };
/** Together not much more than the bitrate that a browser starts with. */
const encodings = [{ scaleResolutionDownBy: 2, maxBitrate: 80_000 }, { maxBitrate: 330_000 }];
/** Of the uplink, in bit/s, and how much less the page sends at its full bitrate. */
const bitrate = 560_000;
const margin = 1.3;

type Uplink = { bytes: number; at: number; available: number };

/** What the page sends, and the estimate of what it could send, in bit/s. */
async function uplinkOf({ page }: PagePeer): Promise<{ sent: number; available: number }> {
  const read = () =>
    eventuallyIn(page, async (): Promise<Uplink | undefined> => {
      const [track] = kit.rooms.main?.room.localTracks ?? [];
      const report = await track?.getStats();
      const transport = [...(report?.values() ?? [])].find(({ type }) => type === 'transport');
      const pair = report?.get(transport?.selectedCandidatePairId);
      return pair && { bytes: pair.bytesSent, at: pair.timestamp, available: pair.availableOutgoingBitrate };
    });
  const earlier = await read();
  await page.waitForTimeout(2_000);
  const later = await read();
  return { sent: ((later.bytes - earlier.bytes) * 8_000) / (later.at - earlier.at), available: later.available };
}

/** Counts videos that are published without being sent yet. */
async function countHeld({ page }: PagePeer): Promise<void> {
  await page.evaluate(() => {
    const page = Object.assign(globalThis, { heldVideos: 0 });
    const { addTransceiver } = RTCPeerConnection.prototype;
    RTCPeerConnection.prototype.addTransceiver = function (track, init) {
      if (init?.sendEncodings?.every(({ active }) => active === false)) page.heldVideos += 1;
      return addTransceiver.call(this, track, init);
    };
  });
}

test('receivers keep frames and audio when a peer with a thin uplink is moved', options, async (t) => {
  const machine = await makeNamespace(t);
  const env = { ...splitRooms, SVC_IP: machine.here, SVC_WEBRTC_TURN_LISTEN_IP: machine.here };
  const started = await startClientFixture(t, env, { args: [machine.nameFlag] });
  const fixture = { ...started, pageUrl: started.pageUrl.replace(machine.here, machine.hereName) };
  const browser = await startBrowser(t, { args: [machine.nameFlag], wrap: machine.wrap });
  const ada = await enter({ ...fixture, browser }, 'ada');
  const bob = await enter(fixture, 'bob');
  await machine.limitUplink(bitrate);
  await publish(ada, 'main', 'ada', { width: 640, height: 360, noisy: true, encodings });
  const dora = await enter(fixture, 'dora');
  await publish(dora, 'main', 'dora');
  await Promise.all([bob.sees(ada, red), bob.hears(ada, tones.ada)]);

  const thin = () =>
    eventually('the page sends all of its bitrate over a thin uplink', async () => {
      const { sent, available } = await uplinkOf(ada);
      t.diagnostic(`sends ${Math.round(sent / 1_000)} kbit/s and could send ${Math.round(available / 1_000)}`);
      return sent > bitrate / margin && available < 1.9 * sent;
    });
  await countHeld(ada);
  await moveWithoutGap(t, { fixture, moved: ada, bob, ada, still: { room: 'main', peer: dora }, prepared: thin });
  assert.ok(((await ada.page.evaluate('heldVideos')) as number) >= 2, 'video is sent over the new path later');
  assert.ok((await bob.notes('trackReplaced')).length >= 4);
});
