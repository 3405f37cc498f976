// Captions in Chromium: an agent with LiveKit's client transcribes; the console, hls.js and a recording show it at its time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventuallyIn, startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { eventually } from '../kit/eventually.ts';
import { addComponent, postWhenIdle } from '../kit/media/sources.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, enter, openConsole, seeText } from './console-kit.ts';
import { LiveKitPeer, livekitEnvironment } from './livekit-kit.ts';

/** Milliseconds between the transcript and its caption: hls.js places the first frames up to 100 ms apart from their time. */
const precision = 500;

test('a final transcript of an agent is a caption in the console, of a stream and of a recording', { timeout: 240_000 }, async (t) => {
  const resources = await makeResources(t);
  const node = await startNode(t, { ...livekitEnvironment, SVC_COMPONENTS_USED: 'hls recording', SVC_RESOURCES_BASE_PATH: resources });
  const { api, url } = node;
  const roomId = 'r';
  await api.post('/room', { roomId });
  const events = await watchEvents(t, node);
  const browser = await startBrowser(t, { shared: true });
  const ada = await openConsole(browser.browser, `${url}/#/room/${roomId}`);
  await ada.page.fill(byId('login-token'), apiToken);
  await ada.page.click(byId('login-submit'));
  await enter(ada.page, 'Ada');
  const options = { width: 320, height: 180, captions: true };
  const hls = await postWhenIdle(api, `/room/${roomId}/component`, { type: 'hls', options });
  assert.equal(hls.status, 201, JSON.stringify(hls.body));
  const recorder = await addComponent(api, 'recording');

  const stream = (await api.post(`/hls/${roomId}/token`, {})).body.data;
  const viewer = await browser.newPage(await servePlainPage(t, '127.0.0.1', undefined, 'hls-page.ts'));
  await viewer.evaluate((address) => {
    viewing.viewer = new viewing.Viewer(address);
  }, `http://${stream.url}`);
  await eventuallyIn(viewer, () => viewing.viewer?.showCaptions(), undefined, 60_000);
  await eventuallyIn(viewer, () => (viewing.viewer?.watched().shown ?? 0) > 0, undefined, 60_000);

  const pageUrl = await servePlainPage(t, '127.0.0.1', undefined, 'livekit-page.ts');
  const token = { claims: { kind: 'agent', name: 'Robo' }, video: { agent: true } };
  const agent = await LiveKitPeer.join({ node, browser, pageUrl, roomId }, 'robo', { token });
  const say = (text: string, final: boolean) =>
    agent.page.evaluate(
      async ([said, isFinal]) => {
        const attributes = { 'lk.segment_id': 's1', 'lk.transcription_final': isFinal };
        await livekit.rooms.main?.room.localParticipant.sendText(said, { topic: 'lk.transcription', attributes });
      },
      [text, String(final)] as const,
    );
  await say('an interim text', false);
  await say('Hello <b> --> you & all', true);
  const event = await events.waitFor('roomEvent', ({ type }) => type === 'TranscriptAdded');
  await seeText(ada.page, 'captions', 'Hello <b> --> you & all');
  await seeText(ada.page, 'captions', 'Robo');
  assert.equal(await ada.page.locator(byId('captions')).filter({ hasText: 'interim' }).count(), 0);
  await ada.page.click(byId('toggle-captions'));
  await ada.page.waitForSelector(byId('captions'), { state: 'detached' });

  const captions = await eventually(
    'the stream has the caption',
    async () => {
      const found = await viewer.evaluate(() => viewing.viewer?.captions());
      return found && found.length > 0 && found;
    },
    { within: 60_000 },
  );
  assert.deepEqual(
    captions.map(({ text }) => text),
    ['<v Robo>Robo: Hello &lt;b&gt; --&gt; you &amp; all'],
  );
  const late = (captions[0]?.time ?? 0) - Date.parse(String(event.time));
  t.diagnostic(`the caption begins ${late.toFixed(0)} ms after the transcript`);
  assert.ok(Math.abs(late) < precision, `${late} ms`);

  assert.equal((await api.delete(`/room/${roomId}/component/${recorder}`)).status, 204);
  const [recording = ''] = (await api.get('/recording')).body.data as string[];
  const report = await eventually('the recording has ended', async () => {
    const { body } = await api.get(`/recording/${recording}`);
    return body.state === 'finished' && body;
  });
  const { body: text } = await api.get(`/recording/${recording}/${report.captions}`);
  const [, start = ''] =
    /^WEBVTT\n\n1\n([\d:.]+) --> [\d:.]+\n<v Robo>Robo: Hello &lt;b&gt; --&gt; you &amp; all\n$/.exec(String(text)) ?? [];
  const [hours = 0, minutes = 0, seconds = 0] = start.split(':').map(Number);
  const offset = ((hours * 60 + minutes) * 60 + seconds) * 1000;
  assert.ok(Math.abs(Date.parse(report.startTime) + offset - Date.parse(String(event.time))) < 50, `${text}`);
  assert.deepEqual(ada.complaints, []);
});
