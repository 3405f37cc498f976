// LiveKit's unmodified client in Chromium, next to peers of the client library in one room.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { blue, type ClientFixture, css, enter, red } from './client-kit.ts';
import { LiveKitPeer, startLiveKitFixture } from './livekit-kit.ts';

type View = { id: string; type: 'audio' | 'video'; paused: boolean; muted: boolean; metadata: unknown; simulcast: boolean };

async function tracksOf({ node, roomId }: ClientFixture, peerId: string): Promise<View[]> {
  return (await node.api.get(`/room/${roomId}/peer/${peerId}`)).body.data.peer.tracks;
}

/** Numbers of peer connections of a client. */
const connections = [1, 2] as const;
const roomOf = (count: 1 | 2) => ({ singlePeerConnection: count === 1 });

for (const count of connections)
  test(`a participant with LiveKit's client over ${count} connection(s) and a peer of the client library see and hear each other`, async (t) => {
    const fixture = await startLiveKitFixture(t);
    const own = await enter(fixture, 'own');
    await own.publish({ colour: css(blue), tone: 660 });
    const room = roomOf(count);
    const ada = await LiveKitPeer.join(fixture, 'ada', { room });
    await ada.publish({ colour: css(red), width: 1280, height: 720, tone: 440 });
    await ada.sees(own, blue);
    await ada.hears(own, 660);
    await own.sees(ada, red);
    await own.hears(ada, 440);
    const published = await tracksOf(fixture, 'ada');
    assert.deepEqual(
      published.map(({ type, simulcast, metadata }) => [type, simulcast, (metadata as { source: string }).source]),
      [
        ['video', true, 'camera'],
        ['audio', false, 'microphone'],
      ],
    );

    // Another participant chooses a layer.
    const bob = await LiveKitPeer.join(fixture, 'bob', { room });
    await bob.sees(ada, red);
    await bob.prefer(ada, 'LOW');
    await bob.seesWidth(ada, 320);
    // The publisher may not send the largest layer on a busy computer.
    await bob.prefer(ada, 'HIGH');
    await bob.seesWidth(ada, 321, 1_280);

    // A video that is not shown is paused.
    const enable = (enabled: boolean) =>
      bob.page.evaluate((wanted) => {
        for (const publication of livekit.rooms.main?.room.remoteParticipants.get('ada')?.trackPublications.values() ?? [])
          if (publication.kind === 'video') publication.setEnabled(wanted);
      }, enabled);
    await enable(false);
    await eventuallyIn(bob.page, async () => (await livekit.rooms.main?.frameOf('ada')) === undefined);
    await enable(true);
    await bob.sees(ada, red);
  });

test('mutes, names, metadata and permissions reach the other side, and the server moderates', async (t) => {
  const fixture = await startLiveKitFixture(t);
  const { node, roomId } = fixture;
  const ada = await LiveKitPeer.join(fixture, 'ada', { token: { ttl: 5, claims: { name: 'Ada', attributes: { role: 'host' } } } });
  const token = await ada.token();
  await ada.publish({ tone: 440 });
  const bob = await LiveKitPeer.join(fixture, 'bob');
  const own = await enter(fixture, 'own');
  await own.hears(ada, 440);
  await bob.hears(ada, 440);
  await bob.waitForNote('speakers', ['ada']);
  await ada.waitForNote('localTrackSubscribed');
  await bob.waitForNote('quality');

  const permit = (all: boolean) =>
    ada.page.evaluate((allowed) => {
      livekit.rooms.main?.room.localParticipant.setTrackSubscriptionPermissions(allowed, [{ participantIdentity: 'own', allowAll: true }]);
    }, all);
  await permit(false);
  await bob.waitForNote('permitted', ['ada', 'not_allowed']);
  await bob.waitForNote('trackUnsubscribed', ['ada', 'audio']);
  await own.hears(ada, 440);
  await permit(true);
  await bob.hears(ada, 440);
  // Before the first one expired, the server sent another.
  await eventually('a new token', async () => (await ada.token()) !== token);

  const microphone = (muted: boolean) =>
    ada.page.evaluate(async (mute) => {
      for (const { track } of livekit.rooms.main?.room.localParticipant.audioTrackPublications.values() ?? [])
        await (mute ? track?.mute() : track?.unmute());
    }, muted);
  await microphone(true);
  await bob.waitForNote('muted', ['ada', 'audio']);
  assert.equal((await tracksOf(fixture, 'ada'))[0]?.paused, true);
  await microphone(false);
  await bob.waitForNote('unmuted', ['ada', 'audio']);
  await own.hears(ada, 440);

  await ada.page.evaluate(async () => {
    const local = livekit.rooms.main?.room.localParticipant;
    await local?.setName('Ada L.');
    await local?.setMetadata('{"seat":1}');
    await local?.setAttributes({ hand: 'up' });
  });
  await bob.waitForNote('attributes', ['ada', { hand: 'up' }]);
  await bob.waitForNote('metadata', ['ada', '{"seat":1}']);
  const { peer } = (await node.api.get(`/room/${roomId}/peer/ada`)).body.data;
  assert.deepEqual(
    [peer.metadata, peer.attributes],
    [
      { name: 'Ada L.', seat: 1 },
      { role: 'host', hand: 'up' },
    ],
  );
  await node.api.patch(`/room/${roomId}`, { metadata: 'break' });
  await bob.waitForNote('roomMetadata', 'break');

  const [track] = await tracksOf(fixture, 'ada');
  await node.api.post(`/room/${roomId}/track/${track?.id}/mute`);
  await bob.waitForNote('muted', ['ada', 'audio']);
  await eventuallyIn(ada.page, () => [...(livekit.rooms.main?.room.localParticipant.audioTrackPublications.values() ?? [])][0]?.isMuted);
  await node.api.patch(`/room/${roomId}/peer/ada`, { permissions: { publish: [] } });
  await ada.waitForNote('localTrackUnpublished', 'audio');
  await ada.waitForNote('permissions', ['ada', false, true]);
  await node.api.delete(`/room/${roomId}/peer/ada`);
  await ada.waitForNote('reason', 4);
  await bob.waitForNote('participantDisconnected', 'ada');
});

for (const count of connections)
  test(`a client with ${count} connection(s) subscribes manually, follows a track that is published again, resumes and joins again`, async (t) => {
    const fixture = await startLiveKitFixture(t);
    const room = roomOf(count);
    const ada = await LiveKitPeer.join(fixture, 'ada', { room });
    await ada.publish({ colour: css(red), tone: 440 });
    const bob = await LiveKitPeer.join(fixture, 'bob', { room, options: { autoSubscribe: false } });
    await eventuallyIn(bob.page, () => livekit.rooms.main?.room.remoteParticipants.get('ada')?.trackPublications.size === 2);
    assert.deepEqual(await bob.notes('trackSubscribed'), []);
    const subscribe = () =>
      bob.page.evaluate(() => {
        for (const publication of livekit.rooms.main?.room.remoteParticipants.get('ada')?.trackPublications.values() ?? [])
          publication.setSubscribed(true);
      });
    await subscribe();
    await bob.sees(ada, red);
    await bob.hears(ada, 440);

    await ada.page.evaluate(async () => {
      const local = livekit.rooms.main?.room.localParticipant;
      for (const { track } of local?.videoTrackPublications.values() ?? []) if (track) await local?.unpublishTrack(track);
    });
    await bob.waitForNote('trackUnsubscribed', ['ada', 'video']);
    await ada.publish({ colour: css(blue) });
    await eventuallyIn(bob.page, () => (livekit.rooms.main?.room.remoteParticipants.get('ada')?.videoTrackPublications.size ?? 0) > 0);
    await subscribe();
    await bob.sees(ada, blue);

    const send = (text: string) =>
      ada.page.evaluate(async (data) => {
        await livekit.rooms.main?.room.localParticipant.publishData(new TextEncoder().encode(data), { reliable: true, topic: 'order' });
      }, text);
    await send('before');
    for (const scenario of ['signal-reconnect', 'full-reconnect'] as const) {
      const before = (await ada.notes('connected')).length;
      await ada.page.evaluate((which) => livekit.rooms.main?.room.simulateScenario(which), scenario);
      // The client sends it once it has resumed.
      if (scenario === 'signal-reconnect') await send('meanwhile');
      await eventuallyIn(
        ada.page,
        (count) => (livekit.rooms.main?.notes.filter(({ name }) => name === 'connected').length ?? 0) > count,
        before,
      );
      if (scenario === 'signal-reconnect') await bob.waitForNote('data', ['ada', 'order', 'meanwhile']);
      await subscribe();
      await bob.sees(ada, blue);
    }
  });

for (const count of connections)
  test(`packets, streams and RPCs pass between a client with ${count} connection(s) and others, and messages to peers of the client library`, async (t) => {
    const fixture = await startLiveKitFixture(t);
    const [ada, bob] = [await LiveKitPeer.join(fixture, 'ada', { room: roomOf(count) }), await LiveKitPeer.join(fixture, 'bob')];
    const own = await enter(fixture, 'own');
    await bob.page.evaluate(() => {
      const room = livekit.rooms.main?.room;
      room?.registerTextStreamHandler('chat', async (reader, { identity }) => {
        livekit.rooms.main?.note('stream', [identity, (await reader.readAll()).length]);
      });
      room?.registerRpcMethod('hello', async ({ callerIdentity, payload }) => `hello ${callerIdentity} ${payload}`);
    });
    const results = await ada.page.evaluate(async () => {
      const local = livekit.rooms.main?.room.localParticipant;
      const bytes = (text: string) => new TextEncoder().encode(text);
      await local?.publishData(bytes('{"a":1}'), { reliable: true, topic: 'json' });
      await local?.publishData(bytes('lossy'), { reliable: false, topic: 'lossy' });
      await local?.publishData(bytes('only bob'), { reliable: true, topic: 'private', destinationIdentities: ['bob'] });
      await local?.sendText('x'.repeat(40_000), { topic: 'chat' });
      await local?.sendFile(new File([bytes('content')], 'a.txt', { type: 'text/plain' }), { topic: 'files' });
      return local?.performRpc({ destinationIdentity: 'bob', method: 'hello', payload: 'p' });
    });
    assert.equal(results, 'hello ada p');
    await bob.waitForNote('data', ['ada', 'json', '{"a":1}']);
    await bob.waitForNote('data', ['ada', 'lossy', 'lossy']);
    await bob.waitForNote('data', ['ada', 'private', 'only bob']);
    await bob.waitForNote('stream', ['ada', 40_000]);
    await eventuallyIn(own.page, () => kit.rooms.main?.notes.filter(({ name }) => name === 'data').length === 4);
    assert.deepEqual(
      (await own.notes('data')).map(({ detail }) => detail),
      [
        { from: 'ada', label: 'json', payload: { a: 1 } },
        { from: 'ada', label: 'lossy', payload: 'lossy' },
        { from: 'ada', label: 'chat', payload: 'x'.repeat(40_000) },
        { from: 'ada', label: 'files', payload: { name: 'a.txt', mimeType: 'text/plain', base64: btoa('content') } },
      ],
    );
    await own.page.evaluate(() => kit.rooms.main?.room.sendData('own', { b: 2 }));
    await ada.waitForNote('data', ['own', 'own', '{"b":2}']);

    // Payloads of RPCs of the client library are values.
    const fromOwn = await own.page.evaluate(async () => {
      const room = kit.rooms.main?.room;
      room?.rpc.handle('add', ({ payload }) => (payload as { a: number; b: number }).a + (payload as { a: number; b: number }).b);
      return room?.rpc.request('bob', 'hello', { b: 2 });
    });
    assert.equal(fromOwn, 'hello own {"b":2}');
    const toOwn = await ada.page.evaluate(() =>
      livekit.rooms.main?.room.localParticipant.performRpc({ destinationIdentity: 'own', method: 'add', payload: '{"a":1,"b":2}' }),
    );
    assert.equal(toOwn, '3');
  });

test('a client with one connection receives more tracks than its first offer has sections for', async (t) => {
  const fixture = await startLiveKitFixture(t);
  const own = await enter(fixture, 'own');
  for (const tone of [440, 660, 880, 1_100]) await own.publish({ colour: css(blue), width: 160, height: 90, tone });
  const ada = await LiveKitPeer.join(fixture, 'ada');
  await eventuallyIn(ada.page, async () => {
    const tracks = [...(livekit.rooms.main?.room.remoteParticipants.get('own')?.trackPublications.values() ?? [])];
    const reports = await Promise.all(
      tracks.map(({ track }) => (track as { getRTCStatsReport(): Promise<RTCStatsReport> } | undefined)?.getRTCStatsReport()),
    );
    const inbound = reports.flatMap((report) => [...(report?.values() ?? [])].filter(({ type }) => type === 'inbound-rtp'));
    return inbound.filter(({ framesDecoded, totalSamplesReceived }) => (framesDecoded ?? totalSamplesReceived) > 0).length === 8;
  });
});
