// Audio of calls with plain RTP phones, verified by its content: tones, silence and digits.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRtcp, parseRtp, parseSenderReports, type RtpPacket } from '../../node/components/rtp/rtp-reader.ts';
import { ComponentAudio } from '../../node/components/sip/audio/component-audio.ts';
import { callCodecs } from '../../node/components/sip/audio/session.ts';
import { eventually } from '../kit/eventually.ts';
import { levelOf, steadyLevelOf } from '../kit/media/tones.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { decodeAudio, decodeSrtp, digitType, encodeSrtp, makeVoice, RtpPhone } from '../kit/sip/rtp-phone.ts';

const rate = 48_000;
const silent = { onDigit: () => {}, onSilent: () => {} };

/** Room side: sends tracks and records call audio. */
async function openRoom(t: TestContext, options: { silence?: number; ip?: string; allowPrivate?: boolean } = {}) {
  const audio = await ComponentAudio.open({ ip: '127.0.0.1', ports: undefined, allowPrivate: true, ...options });
  t.after(() => audio.close());
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  audio.connect({ ip: '127.0.0.1', port: socket.address().port });
  const voices: (RtpPacket & { at: number })[] = [];
  const reports: ReturnType<typeof parseSenderReports> = [];
  socket.on('message', (packet) => {
    const rtp = isRtcp(packet) ? undefined : parseRtp(packet);
    if (rtp) voices.push({ ...rtp, at: performance.now() });
    else reports.push(...parseSenderReports(packet));
  });
  const heard = (ssrc: number, since = 0) =>
    decodeAudio(
      t,
      'opus',
      voices.filter((packet) => packet.ssrc === ssrc && packet.at >= since).map(({ payload }) => payload),
    );
  return { audio, heard, voices, reports };
}

/** A browser in the room that sends a tone. */
async function addTrack(t: TestContext, audio: ComponentAudio, ssrc: number, frequency: number, seconds: number) {
  const payloads = await makeVoice('opus', frequency, seconds);
  const sender = await RtpPhone.open(t, 'opus');
  const start = () => {
    audio.addTrack(ssrc);
    return sender.speak(payloads, { port: audio.port }, { ssrc });
  };
  return { start };
}

/** The samples between leading and trailing silence, without their edges. */
function middle(samples: Float32Array): Float32Array {
  const isLoud = (sample: number) => Math.abs(sample) > 0.02;
  const [from, to] = [samples.findIndex(isLoud), samples.findLastIndex(isLoud)];
  return samples.subarray(Math.floor(from + (to - from) * 0.2), Math.floor(from + (to - from) * 0.85));
}

for (const codec of callCodecs) {
  test(`${codec}: a call receives the room and the other call without itself, and the room receives both calls`, async (t) => {
    const began = Date.now();
    const { audio, heard, voices, reports } = await openRoom(t);
    const [one, two] = [await RtpPhone.open(t, codec), await RtpPhone.open(t, 'PCMA')];
    const [calls, track] = [
      await Promise.all([audio.open('one', silent), audio.open('two', silent)]),
      await addTrack(t, audio, 99, 2000, 3),
    ];
    const [first, second] = calls;
    const voice = { one: await makeVoice(codec, 500, 3), two: await makeVoice('PCMA', 1100, 3) };
    first.applyNegotiation(one.agreed());
    second.applyNegotiation(two.agreed());
    await Promise.all([one.speak(voice.one, first), two.speak(voice.two, second), track.start()]);
    const heardBy = (samples: Float32Array) => {
      const tones = middle(samples);
      return (frequency: number, level = steadyLevelOf) => level(tones, frequency, rate);
    };

    const byOne = heardBy(await one.samples());
    assert.ok(byOne(1100) > 0.08 && byOne(2000) > 0.08, `other ${byOne(1100)}, room ${byOne(2000)}`);
    assert.ok(byOne(500, levelOf) < 0.005, `its own audio is in the mix: ${byOne(500, levelOf)}`);
    const byTwo = heardBy(await two.samples());
    assert.ok(byTwo(500) > 0.08 && byTwo(2000) > 0.08, `other ${byTwo(500)}, room ${byTwo(2000)}`);
    assert.ok(byTwo(1100, levelOf) < 0.005, `its own audio is in the mix: ${byTwo(1100, levelOf)}`);

    const [ofOne, ofTwo] = [heardBy(await heard(first.ssrc)), heardBy(await heard(second.ssrc))];
    const rest = [1100, 2000].map((frequency) => ofOne(frequency, levelOf));
    assert.ok(ofOne(500) > 0.08 && rest.every((level) => level < 0.005), `the room receives ${ofOne(500)}, ${rest}`);
    assert.ok(ofTwo(1100) > 0.08);

    // At the rate of the clock, with sender reports. A busy machine may block the process for longer than is caught up, in one run for
    // 0.4 s of 3.
    const sent = voices.filter(({ ssrc }) => ssrc === first.ssrc);
    for (const [index, packet] of sent.entries()) {
      const before = sent[index - 1];
      if (!before) continue;
      assert.equal((packet.sequence - before.sequence) & 0xffff, 1);
      assert.equal(((packet.timestamp - before.timestamp) >>> 0) % 960, 0);
    }
    const [begin = 0, end = 0] = [sent[0]?.timestamp, sent.at(-1)?.timestamp];
    const left = ((end - begin) >>> 0) / 960 - (sent.length - 1);
    assert.ok(left <= sent.length / 2, `${left} blocks were skipped of ${sent.length}`);
    assert.deepEqual([sent[0]?.marker, sent[1]?.marker, sent[0]?.payloadType], [true, false, 100]);
    const report = reports.find(({ ssrc }) => ssrc === first.ssrc);
    const now = Date.now();
    assert.ok(report && report.time > began - 10_000 && report.time < now + 10_000);
  });
}

test('silence is sent without speech, and a loud crowd is not clipped', async (t) => {
  const { audio } = await openRoom(t);
  const phone = await RtpPhone.open(t, 'PCMU');
  const call = await audio.open('one', silent);
  call.applyNegotiation(phone.agreed());
  await eventually('audio arrives', () => phone.heard.length >= 20);
  const quiet = await phone.samples();
  assert.ok(quiet.length > 12_000 && quiet.every((sample) => Math.abs(sample) < 0.001));
  const since = performance.now();
  const tracks = await Promise.all(
    [700, 900, 1300, 1700, 2100, 2600].map((frequency, index) => addTrack(t, audio, 200 + index, frequency, 2)),
  );
  await Promise.all(tracks.map((track) => track.start()));
  const crowd = middle(await phone.samples(since + 200));
  assert.ok(crowd.every((sample) => Math.abs(sample) < 0.99));
  const levels = [700, 900, 1300, 1700, 2100, 2600].map((frequency) => steadyLevelOf(crowd, frequency, rate));
  assert.ok(Math.min(...levels) > 0.05 && Math.max(...levels) < 2 * Math.min(...levels), levels.join());
  // Clipping would add other tones.
  for (const frequency of [400, 600, 2350]) assert.ok(steadyLevelOf(crowd, frequency, rate) < Math.min(...levels) / 20, String(frequency));
});

test('lost packets cause no clicks, and no packet is played twice', async (t) => {
  const { audio, heard } = await openRoom(t);
  const phone = await RtpPhone.open(t, 'PCMA');
  const call = await audio.open('one', silent);
  call.applyNegotiation(phone.agreed());
  await phone.speak(await makeVoice('PCMA', 400, 4), call, { lose: (index) => index % 20 === 10 });
  const voice = middle(await heard(call.ssrc));
  assert.ok(steadyLevelOf(voice, 400, rate) > 0.18);
  for (const frequency of [3000, 5000]) assert.ok(levelOf(voice, frequency, rate) < 0.002, `a click at ${frequency} Hz`);
});

test('audio flows in both directions over IPv6', async (t) => {
  const { audio, heard } = await openRoom(t, { ip: '::1' });
  const phone = await RtpPhone.open(t, 'PCMA', '::1');
  const call = await audio.open('six', silent);
  const track = await addTrack(t, audio, 99, 2000, 2);
  const voice = await makeVoice('PCMA', 500, 2);
  call.applyNegotiation(phone.agreed({ remote: { ip: '::1', port: phone.port } }));
  await Promise.all([phone.speak(voice, { ip: '::1', port: call.port }), track.start()]);
  assert.ok(steadyLevelOf(middle(await phone.samples()), 2000, rate) > 0.15);
  assert.ok(steadyLevelOf(middle(await heard(call.ssrc)), 500, rate) > 0.15);
});

test('digits are sent in both directions between audio', async (t) => {
  const digits: string[] = [];
  const { audio } = await openRoom(t);
  const phone = await RtpPhone.open(t, 'PCMA');
  const call = await audio.open('one', {
    onDigit: (digit, duration) => digits.push(`${digit} ${Math.round(duration)}`),
    onSilent: () => {},
  });
  const other = await audio.open('two', silent);
  call.applyNegotiation(phone.agreed());
  await call.sendDigits('19#', { duration: 100, gap: 60 });
  const ends = () => phone.heard.filter(({ payload, payloadType }) => payloadType === digitType && (payload[1] ?? 0) & 0x80).length;
  await eventually('three end packets of three digits', () => ends() >= 9);
  const events = phone.heard.filter(({ payloadType }) => payloadType === digitType);
  assert.deepEqual(
    events.filter(({ marker }) => marker).map(({ payload }) => payload[0]),
    [1, 9, 11],
  );
  assert.equal(ends(), 9);
  assert.ok(
    phone.heard.every((packet, index) => index === 0 || ((packet.sequence - (phone.heard[index - 1]?.sequence ?? 0)) & 0xffff) === 1),
  );
  // Another call parses the recorded packets.
  const mirror = await RtpPhone.open(t, 'PCMA');
  other.applyNegotiation(mirror.agreed());
  const reader = await audio.open('three', {
    onDigit: (digit, duration) => digits.push(`${digit} ${Math.round(duration)}`),
    onSilent: () => {},
  });
  reader.applyNegotiation({ ...phone.agreed(), remote: { ip: '127.0.0.1', port: other.port } });
  other.applyNegotiation({ ...mirror.agreed(), remote: { ip: '127.0.0.1', port: reader.port } });
  await other.sendDigits('*0D', { duration: 120, gap: 80 });
  await eventually('three digits', () => digits.length >= 3);
  await sleep(150);
  assert.deepEqual(digits, ['* 120', '0 120', 'D 120']);
  await assert.rejects(call.sendDigits('1a!'), RangeError);
  call.applyNegotiation(phone.agreed({ dtmfPayloadType: undefined }));
  await assert.rejects(call.sendDigits('1'), /accepts no digits/);
  const left = other.sendDigits('1234567890');
  await other.close();
  await assert.rejects(left, /ended/);
});

test('on hold nothing is sent or received, and both resume afterwards', async (t) => {
  const { audio, heard } = await openRoom(t);
  const phone = await RtpPhone.open(t, 'PCMU');
  const call = await audio.open('one', silent);
  call.applyNegotiation(phone.agreed());
  const voice = await makeVoice('PCMU', 600, 1);
  await phone.speak(voice, call);
  call.applyNegotiation(phone.agreed({ direction: 'inactive' }));
  // Twice, because packets sent before are read between two timers, however late these are.
  await sleep(100);
  await sleep(10);
  const held = performance.now();
  await phone.speak(voice, call);
  assert.equal(phone.heard.filter(({ at }) => at >= held).length, 0);
  assert.ok(levelOf(await heard(call.ssrc, held), 600, rate) < 0.001);
  call.applyNegotiation(phone.agreed());
  const back = performance.now();
  await phone.speak(voice, call);
  // Silence continues after the tone; a blocked process skips blocks.
  await eventually('packets arrive again', () => phone.heard.filter(({ at }) => at >= back).length > 40);
  assert.equal(phone.heard.find(({ at }) => at >= back)?.marker, true);
  assert.ok(steadyLevelOf(middle(await heard(call.ssrc, back)), 600, rate) > 0.15);
});

test('silence of the remote party is reported once, and never on hold', async (t) => {
  const { audio } = await openRoom(t, { silence: 300 });
  const phone = await RtpPhone.open(t, 'PCMA');
  const silences: string[] = [];
  const silentCall = await audio.open('silent', { onDigit: () => {}, onSilent: () => silences.push('silent') });
  const held = await audio.open('held', { onDigit: () => {}, onSilent: () => silences.push('held') });
  silentCall.applyNegotiation(phone.agreed());
  held.applyNegotiation(phone.agreed({ direction: 'sendonly' }));
  await eventually('silence is reported', () => silences.length > 0);
  await sleep(900);
  assert.deepEqual(silences, ['silent']);
});

test('calls use ports of the range, and free them at their end', async (t) => {
  const min = await freePort();
  const ports = { min, max: min + 3 };
  const audio = await ComponentAudio.open({ ip: '127.0.0.1', ports, allowPrivate: true });
  t.after(() => audio.close());
  const calls = await Promise.all([1, 2, 3, 4].map((id) => audio.open(String(id), silent)));
  assert.deepEqual(calls.map(({ port }) => port).sort(), [min, min + 1, min + 2, min + 3]);
  await assert.rejects(audio.open('5', silent), /No RTP port/);
  const freed = calls[2]?.port;
  await calls[2]?.close();
  assert.equal((await audio.open('6', silent)).port, freed);
  await audio.close();
  await assert.rejects(audio.open('7', silent), /ended/);
});

test('SRTP interoperates with ffmpeg in both directions', async (t) => {
  const { audio, heard } = await openRoom(t);
  const track = await addTrack(t, audio, 99, 1500, 3);
  for (const suite of ['AES_CM_128_HMAC_SHA1_80', 'AES_CM_128_HMAC_SHA1_32'] as const) {
    const keys = { suite, local: randomBytes(30).toString('base64'), remote: randomBytes(30).toString('base64') };
    const phone = await RtpPhone.open(t, 'PCMA');
    const call = await audio.open('one', silent);
    call.applyNegotiation(phone.agreed({ keys }));
    const reader = await decodeSrtp(t, { suite, key: keys.local });
    phone.socket.on('message', (packet) => phone.socket.send(packet, reader.port, '127.0.0.1'));
    await reader.reading;
    const since = performance.now();
    await Promise.all([track.start(), encodeSrtp(t, { suite, key: keys.remote, frequency: 700, seconds: 3, from: phone, to: call.port })]);
    const [said, read] = [middle(await heard(call.ssrc, since)), middle(await reader.end())];
    const [byRoom, byReader] = [steadyLevelOf(said, 700, rate), steadyLevelOf(read, 1500, rate)];
    assert.ok(byRoom > 0.15, `${suite}: the room receives ${byRoom}`);
    assert.ok(byReader > 0.15, `${suite}: ffmpeg receives ${byReader} of ${read.length}`);
    // Packets without the key are dropped, and do not change the remote address.
    const attacker = await RtpPhone.open(t, 'PCMA');
    await attacker.speak(await makeVoice('PCMA', 900, 0.5), call);
    assert.equal(attacker.heard.length, 0);
    await call.close();
    audio.removeTrack(99);
  }
});
