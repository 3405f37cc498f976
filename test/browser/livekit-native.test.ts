// LiveKit's native client (the core in Rust of the SDKs for Node.js, Python, C++ and Unity), unmodified, next to a peer of the client library.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { signAccessToken } from '../kit/access-tokens.ts';
import { eventuallyIn, startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { NativePeer } from '../kit/livekit/native-peer.ts';
import { makeNamespace, mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { blue, css, green, PagePeer, red } from './client-kit.ts';
import { livekitEnvironment } from './livekit-kit.ts';

const options = { timeout: 300_000, skip: mayMakeNamespaces ? false : 'network namespaces need root' };

async function startFixture(t: TestContext) {
  const network = await makeNamespace(t);
  const node = await startNode(t, { ...livekitEnvironment, SVC_IP: network.here, SVC_WEBRTC_TURN_LISTEN_IP: network.here });
  assert.equal((await node.api.post('/room', { roomId: 'room' })).status, 201);
  const join = async (identity: string) => NativePeer.join(t, network, node.url, identity, await signAccessToken({ identity }));
  return { node, join };
}

async function enterOwn(t: TestContext, node: Awaited<ReturnType<typeof startFixture>>['node']): Promise<PagePeer> {
  const browser = await startBrowser(t, { shared: true });
  const { body } = await node.api.post('/room/room/peer', { type: 'webrtc', peerId: 'own' });
  const page = await browser.newPage(await servePlainPage(t));
  return PagePeer.join(page, 'own', { token: body.data.token, url: node.peerSocketUrl });
}

test('two participants with the native client see and hear each other', options, async (t) => {
  const { join } = await startFixture(t);
  const [ada, bob] = [await join('ada'), await join('bob')];
  await Promise.all([ada.do('publish', { colour: red, tone: 440 }), bob.do('publish', { colour: green, tone: 660 })]);
  await bob.sees(ada, red);
  await bob.hears(ada, 440);
  await ada.sees(bob, green);
  await ada.hears(bob, 660);
});

test('a participant with the native client and a peer of the client library see and hear each other', options, async (t) => {
  const { node, join } = await startFixture(t);
  const own = await enterOwn(t, node);
  await own.publish({ colour: css(blue), width: 320, height: 180, tone: 880 });
  const ada = await join('ada');
  await ada.sees(own, blue);
  await ada.hears(own, 880);
  await ada.do('publish', { colour: red, width: 640, height: 360, tone: 440 });
  await own.hears(ada, 440);
  await own.sees(ada, [...red]);
  const { peer } = (await node.api.get('/room/room/peer/ada')).body.data;
  assert.deepEqual(
    peer.tracks.map((track: { metadata: { source: string }; simulcast: boolean }) => [track.metadata.source, track.simulcast]).sort(),
    [
      ['camera', true],
      ['microphone', false],
    ],
  );
});

test('packets, texts and RPCs pass between native clients, and between them and a peer of the client library', options, async (t) => {
  const { node, join } = await startFixture(t);
  const [ada, bob] = [await join('ada'), await join('bob')];
  const own = await enterOwn(t, node);
  await ada.do('send', { topic: 'reliable', text: '{"a":1}', reliable: true });
  await ada.do('send', { topic: 'lossy', text: 'lossy', reliable: false });
  await ada.do('send', { topic: 'private', text: 'only bob', reliable: true, to: ['bob'] });
  await bob.waitForNote('data', ['ada', 'reliable', '{"a":1}']);
  await bob.waitForNote('data', ['ada', 'lossy', 'lossy']);
  await bob.waitForNote('data', ['ada', 'private', 'only bob']);
  await ada.do('sendText', 'x'.repeat(40_000), 'text');
  await bob.waitForNote('text', ['ada', 'x'.repeat(40_000)]);
  await eventuallyIn(own.page, () => kit.rooms.main?.notes.filter(({ name }) => name === 'data').length === 3);
  assert.deepEqual(
    (await own.notes('data')).map(({ detail }) => detail),
    [
      { from: 'ada', label: 'reliable', payload: { a: 1 } },
      { from: 'ada', label: 'lossy', payload: 'lossy' },
      { from: 'ada', label: 'text', payload: 'x'.repeat(40_000) },
    ],
  );
  await own.page.evaluate(() => kit.rooms.main?.room.sendData('own', { b: 2 }));
  await bob.waitForNote('data', ['own', 'own', '{"b":2}']);

  assert.equal(await ada.do('hello', 'bob', 'p'), 'hello ada p');
  const fromOwn = await own.page.evaluate(async () => {
    const room = kit.rooms.main?.room;
    room?.rpc.handle('hello', ({ payload }) => `hello ${payload} of own`);
    return room?.rpc.request('bob', 'hello', { b: 2 });
  });
  assert.equal(fromOwn, 'hello own {"b":2}');
  assert.equal(await ada.do('hello', 'own', 'p'), 'hello p of own');
  await ada.do('leave');
  await bob.waitForNote('participantDisconnected', 'ada');
});
