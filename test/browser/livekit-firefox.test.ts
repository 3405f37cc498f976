// LiveKit's unmodified client and the client library in Firefox, in a room with a participant in Chromium.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { firefoxAddress, startFirefox } from '../kit/browser/firefox.ts';
import { blue, css, enter, green, red } from './client-kit.ts';
import { LiveKitPeer, startLiveKitFixture } from './livekit-kit.ts';

const options = { timeout: 300_000, skip: firefoxAddress ? false : 'Firefox does not use loopback addresses' };

test(
  "participants with LiveKit's client and a peer of the client library exchange media and data between Firefox and Chromium",
  options,
  async (t) => {
    const fixture = await startLiveKitFixture(t, { SVC_WEBRTC_TURN_LISTEN_IP: firefoxAddress ?? '' });
    const firefox = { ...fixture, browser: await startFirefox(t) };
    const ada = await LiveKitPeer.join(fixture, 'ada');
    await ada.publish({ colour: css(red), width: 640, height: 360, tone: 440 });
    const bob = await LiveKitPeer.join(firefox, 'bob');
    await bob.publish({ colour: css(blue), width: 640, height: 360, tone: 660 });
    await bob.sees(ada, red);
    await bob.hears(ada, 440);
    await ada.sees(bob, blue);
    await ada.hears(bob, 660);
    const { tracks } = (await fixture.node.api.get(`/room/${fixture.roomId}/peer/bob`)).body.data.peer;
    assert.deepEqual(
      tracks.map(({ type, simulcast }: { type: string; simulcast: boolean }) => [type, simulcast]),
      [
        ['video', true],
        ['audio', false],
      ],
    );

    const own = await enter(firefox, 'own');
    await own.publish({ colour: css(green), width: 320, height: 180, tone: 880 });
    await own.sees(ada, red);
    await own.hears(ada, 440);
    await own.sees(bob, blue);
    await own.hears(bob, 660);
    for (const participant of [ada, bob]) {
      await participant.sees(own, green);
      await participant.hears(own, 880);
    }

    await bob.page.evaluate(async () => {
      const local = livekit.rooms.main?.room.localParticipant;
      await local?.publishData(new TextEncoder().encode('{"a":1}'), { reliable: true, topic: 'order' });
    });
    await ada.waitForNote('data', ['bob', 'order', '{"a":1}']);
    await own.waitForNote('data');
    await own.page.evaluate(() => kit.rooms.main?.room.sendData('own', { b: 2 }));
    await bob.waitForNote('data', ['own', 'own', '{"b":2}']);

    // With an ICE restart, then with new connections.
    for (const scenario of ['signal-reconnect', 'full-reconnect'] as const) {
      const before = (await bob.notes('connected')).length;
      await bob.page.evaluate((which) => livekit.rooms.main?.room.simulateScenario(which), scenario);
      await eventuallyIn(
        bob.page,
        (count) => (livekit.rooms.main?.notes.filter(({ name }) => name === 'connected').length ?? 0) > count,
        before,
      );
      await bob.sees(ada, red);
      await bob.hears(ada, 440);
      await ada.sees(bob, blue);
      await ada.hears(bob, 660);
    }
  },
);
