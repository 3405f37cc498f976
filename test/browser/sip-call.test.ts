// A phone call between Chromium and a callee of a real registrar: audio and DTMF in both directions, and latency.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DigitReceiver, DigitSender, digitToEvent } from '../../node/components/sip/audio/telephone-event.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { decibels, levelOf, steadyLevelOf } from '../kit/media/tones.ts';
import { freePorts } from '../kit/network/free-ports.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { answeredCall, heardSince, isLoud } from '../kit/sip/answered-call.ts';
import { digitType, makeVoice, type RtpPhone } from '../kit/sip/rtp-phone.ts';
import { enter, startClientFixture } from './client-kit.ts';

const peerTone = 440;
const phoneTone = 1000;
const rate = 8000;
const timeoutMs = 60_000;
const rounds = 12;

/** A room with Chromium in it and an answered phone call. */
async function call(t: TestContext) {
  const [farEndPort = 0, firstPort = 0] = await freePorts(2);
  const fixture = await startClientFixture(t, { SVC_COMPONENTS_USED: 'sip', SVC_SIP_PORT: String(firstPort) });
  const { node, roomId } = fixture;
  const { api } = node;
  const events = await watchEvents(t, node);
  const anna = await enter(fixture, 'anna');
  await anna.page.evaluate(async (frequency) => {
    const beeper = kit.beeper(frequency);
    kit.beepers.main = beeper;
    await kit.rooms.main?.room.publish(beeper.track);
  }, peerTone);

  return { anna, api, events, ...(await answeredCall(t, { api, events, roomId, farEndPort })) };
}

test('Chromium and a phone hear each other without echo and exchange DTMF, with measured latency', { timeout: 280_000 }, async (t) => {
  const { anna, phone, to, api, path, events, component, hangUp } = await call(t);

  const voice = await makeVoice('PCMA', phoneTone, 150);
  let speaks = true;
  const spoken = phone.speak(voice, to).then(() => {
    speaks = false;
  });
  await anna.hears(component, phoneTone);
  // For a second no other tone is audible, as far as the spectrum of a browser shows.
  await eventuallyIn(
    anna.page,
    async ([peerId, phoneTone, peerTone]) => ((await kit.rooms.main?.louderOf(peerId, [phoneTone, peerTone])) ?? 0) > 30,
    [component.id, phoneTone, peerTone] as const,
    timeoutMs,
  );
  // The same for the phone. Gaps by a delayed sender would be audible at all frequencies.
  let [level, own] = [0, 0];
  const isHeard = async () => {
    const since = performance.now();
    await eventually('the phone receives a second of audio', () => heardSince(phone, since).length >= rate * 1.2, { every: 5 });
    assert.ok(speaks, 'the phone has stopped speaking');
    const heard = heardSince(phone, since).subarray(0, rate);
    level = steadyLevelOf(heard, peerTone, rate);
    own = decibels(levelOf(heard, phoneTone, rate) / level);
    return level > 0.05 && own < -30;
  };
  await eventually(() => `the phone hears the tone of the peer with level ${level}, its echo at ${own} dB`, isHeard, { every: 1 });
  phone.stop();
  await spoken;

  assert.equal((await api.post(`${path}/dtmf`, { digits: '19#' })).status, 204);
  const digits: string[] = [];
  const receiver = new DigitReceiver({ clockRate: rate, onDigit: (digit) => digits.push(digit) });
  let read = 0;
  await eventually('the phone receives the digits', () => {
    for (; read < phone.heard.length; read += 1) {
      const packet = phone.heard[read];
      if (packet?.payloadType === digitType) receiver.push(packet, packet.at);
    }
    return digits.length >= 3;
  });
  assert.deepEqual(digits, ['1', '9', '#']);
  await pressKeys(phone, to, '5*');
  for (const digit of ['5', '*']) await events.waitFor('roomEvent', (each) => each.type === 'SipDigitReceived' && each.digit === digit);

  const delays: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await turn(false);
    const quiet = performance.now();
    await eventually('the phone hears nothing', () => {
      const last = phone.heard.filter(({ at }) => at > quiet).slice(-10);
      return last.length === 10 && last.every(({ payload }) => !isLoud(payload));
    });
    const began = (await turn(true)) - performance.timeOrigin;
    const first = () => phone.heard.find(({ at, payload, payloadType }) => at > began && payloadType === 8 && isLoud(payload));
    await eventually('the phone hears a beep', () => first() !== undefined, { every: 5 });
    delays.push((first()?.at ?? 0) - began);
  }
  delays.sort((a, b) => a - b);
  const [least = 0, median = 0, most = 0] = [delays[0], delays[rounds / 2], delays.at(-1)];
  const shown = `browser to phone: ${median.toFixed(0)} ms (${least.toFixed(0)} to ${most.toFixed(0)}; goal 150)`;
  t.diagnostic(shown);
  // Clock and encoder of the browser add some milliseconds, a busy machine many.
  assert.ok(least > 5 && median < 3000, shown);
  await hangUp();

  function turn(on: boolean): Promise<number> {
    return anna.page.evaluate((wanted) => kit.beepers.main?.turn(wanted) ?? 0, on);
  }
});

/** Sends digits as RTP events every 20 ms. */
async function pressKeys(phone: RtpPhone, to: { port: number }, keys: string): Promise<void> {
  const sender = new DigitSender();
  for (const key of keys) sender.add({ event: digitToEvent(key) ?? 0, steps: 6, gap: 4 }, () => {});
  for (let step = 0; step < 40; step += 1) {
    const timestamp = 2_000_000_000 + step * 160;
    for (const packet of sender.next(timestamp, 160) ?? []) phone.send({ ...packet, payloadType: digitType }, to);
    await sleep(20);
  }
}
