// Receiver parameters: what a room sends to players, in the numbers of their offers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canConsume,
  generateRouterRtpCapabilities,
  getConsumableRtpParameters,
  getConsumerRtpParameters,
  getProducerRtpParametersMapping,
} from 'mediasoup/ortc';
import type { RtpParameters } from 'mediasoup/types';
import { rtpCapabilitiesSchema } from '../../../api/media-objects.ts';
import { clientCapabilities, roomCodecs } from '../../../node/media/codecs.ts';
import { checkRtpCapabilities } from '../../../node/media/parameters.ts';
import { withReceiverNumbers } from '../../../node/media/receivers/receiver-numbers.ts';
import { type MediaSection, parseOffer } from '../../../node/sdp/offer.ts';
import { receiverParameters } from '../../../node/sdp/receiver-parameters.ts';
import { chromium, pion } from '../../kit/media/sdp-offers.ts';

const router = generateRouterRtpCapabilities(roomCodecs(null));
const capabilities = rtpCapabilitiesSchema.parse(clientCapabilities(router as never));
const mid = 'urn:ietf:params:rtp-hdrext:sdes:mid';
const transportCc = 'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01';

function sectionsOf(text: string): MediaSection[] {
  return parseOffer(text.replaceAll('a=sendonly', 'a=recvonly')).sections.filter((each) => each.kind !== 'application');
}

function received(sections: readonly MediaSection[], kind: 'audio' | 'video', room = capabilities) {
  const section = sections.find((each) => each.kind === kind) ?? assert.fail(`no section of ${kind}`);
  return receiverParameters(section, room, sections);
}

const name = ({ mimeType, payloadType }: { mimeType: string; payloadType: number }) => `${mimeType} ${payloadType}`;

test('a player gets the codecs and header extensions of the room that it offers, in its own numbers', () => {
  const video = received(sectionsOf(chromium), 'video') ?? assert.fail('no video');
  assert.deepEqual(video.parameters.codecs.map(name), [
    ...['video/VP8 96', 'video/H264 102', 'video/AV1 45', 'video/VP9 98'],
    ...['video/rtx 97', 'video/rtx 103', 'video/rtx 46', 'video/rtx 99'],
  ]);
  assert.deepEqual(video.parameters.codecs[1]?.rtcpFeedback, [{ type: 'nack' }, { type: 'nack', parameter: 'pli' }]);
  const ids = Object.fromEntries((video.parameters.headerExtensions ?? []).map(({ uri, id }) => [uri, id]));
  assert.deepEqual([ids[mid], ids[transportCc], ids['urn:3gpp:video-orientation']], [4, 3, 13]);
  const roomIds = Object.fromEntries((capabilities.headerExtensions ?? []).map(({ uri, preferredId }) => [uri, preferredId]));
  assert.deepEqual(
    video.numbers.extensions.map(({ room, receiver }) => [room, receiver]),
    (video.parameters.headerExtensions ?? []).map(({ uri, id }) => [roomIds[uri], id]),
  );
  // Neither section offers it.
  assert.equal(video.numbers.otherExtension, 12);
  const audio = received(sectionsOf(chromium), 'audio') ?? assert.fail('no audio');
  assert.deepEqual(audio.parameters.codecs.map(name), ['audio/opus 111']);
  assert.deepEqual(audio.numbers.payloadTypes, [{ room: 100, receiver: 111 }]);
});

test('the media worker gets the numbers of the codec of each track, and clients cannot set them', () => {
  const video = received(sectionsOf(pion), 'video') ?? assert.fail('no video');
  const given = { numbers: video.numbers, ssrc: 11, rtxSsrc: 12, cname: 'c' };
  const receiver = withReceiverNumbers(checkRtpCapabilities(video.rtpCapabilities), given);
  const sent: RtpParameters = {
    codecs: [{ mimeType: 'video/VP8', payloadType: 120, clockRate: 90_000, parameters: {}, rtcpFeedback: [] }],
    encodings: [{ ssrc: 1 }],
    headerExtensions: [],
    rtcp: {},
  };
  const consumable = getConsumableRtpParameters('video', sent, router, getProducerRtpParametersMapping(sent, router));
  assert.equal(canConsume(consumable, structuredClone(receiver)), true);
  const { codecs, headerExtensions = [] } = getConsumerRtpParameters({
    ...{ consumableRtpParameters: consumable, remoteRtpCapabilities: structuredClone(receiver), pipe: false, enableRtx: true },
  });
  assert.deepEqual(
    codecs.map(({ mimeType }) => mimeType),
    ['video/VP8', 'video/rtx'],
  );
  const feedback =
    codecs[0]?.rtcpFeedback?.filter(({ type }) => type.startsWith('receiver-')).map(({ type, parameter }) => `${type} ${parameter}`) ?? [];
  const [vp8, rtx] = codecs.map(({ payloadType }) => payloadType);
  for (const expected of [`receiver-payload-type ${vp8}:96`, `receiver-payload-type ${rtx}:97`, 'receiver-ssrc 11:12', 'receiver-cname c'])
    assert.ok(feedback.includes(expected), `${expected} in ${feedback.join(', ')}`);
  assert.ok(headerExtensions.some(({ uri }) => uri === transportCc));
  assert.doesNotMatch(JSON.stringify(checkRtpCapabilities(receiver)), /receiver-/);
});

test('a player without a codec of the room, a mid or retransmissions gets what remains', () => {
  const sections = sectionsOf(chromium);
  const vp8 = rtpCapabilitiesSchema.parse(clientCapabilities(generateRouterRtpCapabilities(roomCodecs('vp8')) as never));
  assert.equal(received(sectionsOf(chromium.replace('VP8/90000', 'H265/90000')), 'video', vp8), undefined);
  // Probing packets could not be told from media.
  const anonymous = sections.map((each) => ({ ...each, extensions: each.extensions.filter(({ uri }) => uri !== mid) }));
  const uris = received(anonymous, 'video')?.parameters.headerExtensions?.map(({ uri }) => uri);
  assert.deepEqual([uris?.includes(transportCc), uris?.includes('urn:3gpp:video-orientation')], [false, true]);
  const codecs = sections.map((each) => ({ ...each, codecs: each.codecs.filter(({ payloadType }) => payloadType !== 99) }));
  assert.ok(received(codecs, 'video')?.parameters.codecs.every(({ mimeType }) => mimeType !== 'video/rtx'));
});
