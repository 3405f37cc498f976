// The client library in plain pages of Chromium, with ICE, DTLS and SRTP through a real node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { blue, css, enter, red, startClientFixture } from './client-kit.ts';

test('two pages see and hear each other, and an unpublished track is removed from both', async (t) => {
  const fixture = await startClientFixture(t);
  const [first, second] = await Promise.all([enter(fixture, 'first'), enter(fixture, 'second')]);
  await Promise.all([first.publish({ colour: css(red), tone: 440 }), second.publish({ colour: css(blue), tone: 1000 })]);
  await Promise.all([first.sees(second, blue), second.sees(first, red)]);
  await Promise.all([first.hears(second, 1000), second.hears(first, 440)]);
  await first.page.evaluate(async () => {
    const track = kit.rooms.main?.room.localTracks.find(({ kind }) => kind === 'video');
    await track?.unpublish();
  });
  await second.waitForNote('trackUnsubscribed');
  assert.equal(await second.page.evaluate(() => kit.rooms.main?.trackOf('first', 'video')), undefined);
  await second.hears(first, 440);
});

test('a page that joins a room with tracks has one receiving connection and adds all tracks with one negotiation', async (t) => {
  const fixture = await startClientFixture(t);
  const senders = await Promise.all(['one', 'two'].map((id) => enter(fixture, id)));
  await Promise.all(senders.map((sender, index) => sender.publish({ colour: css(red), tone: 500 + 500 * index })));
  const viewer = await enter(fixture, 'viewer');
  for (const [index, sender] of senders.entries()) {
    await viewer.sees(sender, red);
    await viewer.hears(sender, 500 + 500 * index);
  }
  const made = await viewer.page.evaluate(() => ({ connections: kit.connections.length, negotiations: kit.negotiations }));
  // mediasoup-client has a second negotiation for the bandwidth probing stream.
  assert.deepEqual(made, { connections: 1, negotiations: [4, 5] });
});

test('a small tile receives the small layer and a large tile the large one, after each resize', async (t) => {
  const fixture = await startClientFixture(t);
  const [sender, viewer] = await Promise.all([enter(fixture, 'sender'), enter(fixture, 'viewer')]);
  await viewer.page.evaluate(() => {
    if (kit.rooms.main) kit.rooms.main.size = { width: 1280, height: 720 };
  });
  // Not 30 frames per second: if encoding is too slow, Chromium reduces the size of all layers.
  await sender.publish({ colour: css(red), width: 1280, height: 720 });
  const comesTo = async (wanted: number) => {
    const from = performance.now();
    await eventuallyIn(viewer.page, async (width) => (await kit.rooms.main?.frameOf('sender'))?.width === width, wanted);
    // Two seconds on an idle machine.
    t.diagnostic(`width ${wanted} after ${Math.round(performance.now() - from)} ms`);
  };
  const resize = (to: string) =>
    viewer.page.evaluate((size) => {
      for (const element of kit.rooms.main?.elements.values() ?? [])
        [element.style.width, element.style.height] = size.split(' ') as [string, string];
    }, to);
  await comesTo(1280);
  await resize('160px 90px');
  await comesTo(320);
  await resize('640px 360px');
  await comesTo(640);
  await resize('1280px 720px');
  await comesTo(1280);
  await resize('0px 0px');
  await comesTo(320);
});

test('a page that waits for admission shows and sends nothing, and then sees within 300 ms and is seen', async (t) => {
  const fixture = await startClientFixture(t);
  const { node, roomId } = fixture;
  const host = await enter(fixture, 'host');
  await host.publish({ colour: css(red), width: 320, height: 180, tone: 440 });
  const early = await enter(fixture, 'early');
  const joined = (await early.firstFrameOf(host)) - (await early.waitForNote('connecting')).at;
  await early.page.evaluate(() => kit.rooms.main?.room.leave());
  await early.page.close();
  assert.equal((await node.api.patch(`/room/${roomId}`, { admission: 'manual' })).status, 200);
  const guest = await enter(fixture, 'guest', { metadata: { name: 'Ada' } }, node.port, false);
  await guest.waitForNote('waiting');
  // Requested while it waits: published as soon as it is admitted.
  const published = guest.publish({ colour: css(blue), width: 320, height: 180, tone: 1000 });
  await eventually(
    'the name arrives',
    async () => (await node.api.get(`/room/${roomId}/peer/guest`)).body.data.peer.metadata?.name === 'Ada',
  );
  const seen = await guest.page.evaluate(() => [kit.rooms.main?.room.peers.size, kit.rooms.main?.arrived.size]);
  assert.deepEqual(seen, [0, 0]);
  assert.equal(await host.page.evaluate(() => kit.rooms.main?.room.peers.size), 0);

  const start = await guest.now();
  assert.equal((await node.api.post(`/room/${roomId}/peer/guest/admit`)).status, 204);
  const took = (await guest.firstFrameOf(host)) - start;
  t.diagnostic(`first frame ${Math.round(took)} ms after the request to admit, ${Math.round(joined)} ms after join() without a wait`);
  assertPrompt('the first frame after the admission', took, { promised: 300, bound: Math.max(1_500, 2 * joined) });
  await published;
  await Promise.all([guest.sees(host, red), host.sees(guest, blue), host.hears(guest, 1000)]);
  assert.deepEqual(
    (await guest.notes()).map(({ name }) => name).filter((name) => ['connecting', 'waiting', 'joined'].includes(name)),
    ['connecting', 'waiting', 'connecting', 'joined'],
  );
});

test('media flows with ICE over TCP only', async (t) => {
  const fixture = await startClientFixture(t);
  const tcp = { iceProtocols: ['tcp'] as const };
  const [first, second] = await Promise.all([enter(fixture, 'first', tcp), enter(fixture, 'second', tcp)]);
  await Promise.all([first.publish({ colour: css(red) }), second.publish({ tone: 1000 })]);
  await Promise.all([second.sees(first, red), first.hears(second, 1000)]);
  const protocols = await first.page.evaluate(async () => {
    const { server } = (await kit.rooms.main?.room.getStats()) ?? {};
    return [server?.transports.send, server?.transports.recv].map(
      (transport) => (transport?.iceSelectedTuple as { protocol?: string } | undefined)?.protocol,
    );
  });
  assert.deepEqual(protocols, ['tcp', 'tcp']);
});

test('messages and data channels arrive', async (t) => {
  const fixture = await startClientFixture(t);
  const [first, second] = await Promise.all([enter(fixture, 'first'), enter(fixture, 'second')]);
  await first.page.evaluate(() => kit.rooms.main?.room.sendData('chat', { text: 'Grüß Gott' }));
  assert.deepEqual((await second.waitForNote('data')).detail, { from: 'first', label: 'chat', payload: { text: 'Grüß Gott' } });
  await first.page.evaluate(async () => {
    const channel = await kit.rooms.main?.room.openDataChannel('files');
    Object.assign(globalThis, { channel });
  });
  assert.deepEqual((await second.waitForNote('dataChannel')).detail, { label: 'files', peerId: 'first' });
  // A message sent before the channel is open at the other peer is lost. After the first received message it is open at both.
  await first.page.evaluate(() => {
    const { channel } = globalThis as unknown as { channel: { send: (message: string | ArrayBuffer) => void } };
    setInterval(() => channel.send('small'), 50);
  });
  assert.equal((await second.waitForNote('message')).detail, 'small');
  await first.page.evaluate(() => {
    const { channel } = globalThis as unknown as { channel: { send: (message: string | ArrayBuffer) => void } };
    channel.send(new ArrayBuffer(100_000));
  });
  await second.page.waitForFunction(() =>
    kit.rooms.main?.notes.some(({ name, detail }) => name === 'message' && (detail as { bytes?: number }).bytes === 100_000),
  );
});

test('a paused track stops for other peers and resumes', async (t) => {
  const fixture = await startClientFixture(t);
  const [first, second] = await Promise.all([enter(fixture, 'first'), enter(fixture, 'second')]);
  await first.publish({ tone: 440 });
  await second.hears(first, 440);
  await first.page.evaluate(() => kit.rooms.main?.room.localTracks[0]?.pause());
  await second.page.waitForFunction(() => kit.rooms.main?.room.peers.get('first')?.tracks[0]?.paused);
  await second.hears(first, 0);
  await first.page.evaluate(() => kit.rooms.main?.room.localTracks[0]?.resume());
  await second.hears(first, 440);
});

test('a replaced source keeps the track id', async (t) => {
  const fixture = await startClientFixture(t);
  const [first, second] = await Promise.all([enter(fixture, 'first'), enter(fixture, 'second')]);
  await first.publish({ colour: css(red) });
  await second.sees(first, red);
  await first.page.evaluate((colour) => kit.rooms.main?.room.localTracks[0]?.replaceTrack(kit.pattern(colour)), css(blue));
  await second.sees(first, blue);
  assert.deepEqual(await second.notes('trackUnsubscribed'), []);
});
