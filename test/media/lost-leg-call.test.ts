// A phone call in a room of a real node when its media worker is killed: the call goes on, and both sides hear each other again.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { reportSchema } from '../../api/recording-report.ts';
import { eventually } from '../kit/eventually.ts';
import { samplesOf } from '../kit/media/recorded-file.ts';
import { addComponent, withSources } from '../kit/media/sources.ts';
import { levelOf, steadyLevelOf } from '../kit/media/tones.ts';
import { freePorts } from '../kit/network/free-ports.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { answeredCall, heardSince, isLoud } from '../kit/sip/answered-call.ts';
import { makeVoice, type RtpPhone } from '../kit/sip/rtp-phone.ts';

/** In hertz. */
const [roomTone, phoneTone] = [660, 1000];
const rate = 8000;
/** Milliseconds in which media has a new path. */
const promisedPath = 2_000;

/** Times of the packets in which the phone hears something. */
function loudTimes({ heard }: RtpPhone): number[] {
  return heard.filter(({ payloadType, payload }) => payloadType === 8 && isLoud(payload)).map(({ at }) => at);
}

/** True if the phone has heard the tone for the last second. */
function hearsTone(phone: RtpPhone): boolean {
  const samples = heardSince(phone, performance.now() - 1_000);
  return samples.length >= rate * 0.9 && steadyLevelOf(samples, roomTone, rate) > 0.05 && levelOf(samples, phoneTone, rate) < 0.01;
}

test('a phone call of a room goes on when its media worker is killed', async (t) => {
  const resources = await withSources(t, 60);
  const [farEndPort = 0, firstPort = 0] = await freePorts(2);
  const node = await startNode(t, {
    SVC_COMPONENTS_USED: 'file recording sip',
    SVC_RESOURCES_BASE_PATH: resources,
    SVC_SIP_PORT: String(firstPort),
    SVC_WEBRTC_WORKERS: '2',
    SVC_WORKER_MAX_TRACKS: '100',
  });
  const { api } = node;
  const events = await watchEvents(t, node);
  await api.post('/room', { roomId: 'r' });
  const { component, phone, to, hangUp } = await answeredCall(t, { api, events, roomId: 'r', farEndPort });
  const recorder = await addComponent(api, 'recording');
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  const spoken = phone.speak(await makeVoice('PCMA', phoneTone, 60), to);
  await eventually('the phone hears the room', () => loudTimes(phone).length > 100 && hearsTone(phone));
  const { calls } = await component.properties();

  const [{ worker }] = (await api.get('/room/r')).body.data.legs as [{ worker: number }];
  const killed = performance.now();
  process.kill(node.node.parts.media.workers()[worker]?.pid ?? 0, 'SIGKILL');
  await eventually(
    'the phone hears the room again',
    () => loudTimes(phone).filter((at) => at > killed + 1_000).length > 100 && hearsTone(phone),
  );
  const times = loudTimes(phone);
  const gap = Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? 0)));
  t.diagnostic(`the phone heard nothing for ${Math.round(gap)} ms`);
  assertPrompt('audio of the room', gap, { promised: promisedPath });
  assert.deepEqual((await component.properties()).calls, calls, 'it is the same call');

  phone.stop();
  await spoken;
  assert.equal((await api.delete(`/room/r/component/${recorder}`)).status, 204);
  await hangUp();
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  const { tracks } = reportSchema.parse((await api.get(`/recording/${id}`)).body);
  const files = tracks.filter(({ origin }) => 'componentId' in origin && origin.componentId === component.id);
  assert.ok(files.length >= 2, 'the phone was recorded before and after');
  for (const { file } of files) {
    const samples = await samplesOf(join(resources, 'recordings', id, String(file)));
    const level = steadyLevelOf(samples, phoneTone, 48_000);
    assert.ok(level > 0.1, `the recorded phone has level ${level}`);
  }
});
