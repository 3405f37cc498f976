// Mutated SDP offers: each is either accepted with parameters that the media worker accepts, or rejected with one message. `npm run fuzz`
// sends 100,000.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateRouterRtpCapabilities, getProducerRtpParametersMapping } from 'mediasoup/ortc';
import type { RtpCapabilities } from 'mediasoup/types';
import { parse } from 'sdp-transform';
import { ServiceError } from '../../../api/errors.ts';
import { rtpCapabilitiesSchema, transportOptionsSchema } from '../../../api/media-objects.ts';
import { clientCapabilities, roomCodecs } from '../../../node/media/codecs.ts';
import { checkDtlsParameters, checkRtpCapabilities, checkRtpParameters } from '../../../node/media/parameters.ts';
import { type AnswerSection, writeAnswer } from '../../../node/sdp/answer.ts';
import { parseIceFragment } from '../../../node/sdp/ice-fragment.ts';
import { type MediaSection, parseOffer } from '../../../node/sdp/offer.ts';
import { producerParameters } from '../../../node/sdp/producer-parameters.ts';
import { receiverParameters } from '../../../node/sdp/receiver-parameters.ts';
import { ByteFuzzer } from '../../kit/fuzzer.ts';
import { mutateSdp } from '../../kit/media/mutated-sdp.ts';
import { offers } from '../../kit/media/sdp-offers.ts';

/** A tenth of the packets of the other protocols. */
const count = Number(process.env.FUZZ_PACKETS ?? 20_000) / 10;
const seed = Number(process.env.FUZZ_SEED ?? 1);
const maxMessage = 400;

const routerCapabilities = clientCapabilities(generateRouterRtpCapabilities(roomCodecs(null)) as never);
const capabilities = rtpCapabilitiesSchema.parse(routerCapabilities);
const extensions = new Set(capabilities.headerExtensions?.map(({ uri }) => uri));
const transport = transportOptionsSchema.parse({
  id: 't',
  iceParameters: { usernameFragment: 'u', password: 'p', iceLite: true },
  iceCandidates: [{ foundation: 'udp', priority: 1, ip: '::1', address: '::1', protocol: 'udp', port: 1, type: 'host' }],
  dtlsParameters: { role: 'auto', fingerprints: [{ algorithm: 'sha-256', value: Array(32).fill('AB').join(':') }] },
  sctpParameters: { port: 5000, OS: 1, MIS: 1, maxMessageSize: 1 },
});

test('mutated offers are accepted with valid parameters or rejected with one message', () => {
  const fuzzer = new ByteFuzzer(seed);
  const texts = Object.values(offers);
  let accepted = 0;
  const messages = new Set<string>();
  for (let index = 0; index < count; index += 1) {
    const text = mutateSdp(fuzzer, texts);
    try {
      accept(text);
      accepted += 1;
    } catch (error) {
      assert.ok(error instanceof ServiceError && error.code === 'offer_rejected', `offer ${index} of seed ${seed}: ${String(error)}`);
      assert.match(error.message, /^[A-Z][^\n]*$/);
      assert.ok(error.message.length <= maxMessage, error.message);
      messages.add(error.message.replace(/\d+/g, 'N'));
    }
  }
  // The mutations reach both ends.
  assert.ok(accepted > count / 20 && messages.size >= 10, `${accepted} accepted, ${[...messages].join('\n')}`);
});

/** What a door does with an offer, up to the media worker. */
function accept(text: string): void {
  const offer = parseOffer(text);
  checkDtlsParameters(offer.dtls);
  receive(offer.sections.filter((section) => section.kind !== 'application'));
  const sections = offer.sections.map((section): AnswerSection => {
    if (section.kind === 'application') return section;
    const parameters = producerParameters(section, capabilities);
    const checked = checkRtpParameters(parameters, section.kind, extensions);
    getProducerRtpParametersMapping(checked, routerCapabilities as RtpCapabilities);
    return { kind: section.kind, mid: section.mid, direction: 'recvonly', rids: section.rids, parameters };
  });
  const answer = parse(writeAnswer({ offer, transport, sections, sessionId: 1n }));
  assert.deepEqual(
    answer.media.map(({ mid }) => String(mid)),
    offer.sections.map(({ mid }) => mid),
  );
  parseIceFragment(`a=ice-ufrag:${offer.ice.usernameFragment}\r\na=ice-pwd:${offer.ice.password}\r\n`);
}

/** What a player gets for the sections. */
function receive(sections: readonly MediaSection[]): void {
  for (const accepted of sections.map((section) => receiverParameters(section, capabilities, sections))) {
    if (!accepted) continue;
    const { rtpCapabilities, numbers } = accepted;
    checkRtpCapabilities(rtpCapabilities);
    for (const { room, receiver } of numbers.payloadTypes)
      assert.ok(room <= 127 && receiver <= 127, `payload types ${room} and ${receiver}`);
    const ids = [...numbers.extensions.map(({ receiver }) => receiver), numbers.otherExtension];
    assert.ok(ids.every((id) => id >= 1 && id <= 14) && new Set(ids).size === ids.length, `header extensions ${ids}`);
  }
}
