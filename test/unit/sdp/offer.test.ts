// SDP offers of encoders and browsers: what they publish, and the answers to them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { generateRouterRtpCapabilities } from 'mediasoup/ortc';
import { parse } from 'sdp-transform';
import { rtpCapabilitiesSchema, transportOptionsSchema } from '../../../api/media-objects.ts';
import { clientCapabilities, roomCodecs } from '../../../node/media/codecs.ts';
import { type AnswerSection, type MediaAnswer, writeAnswer, writeIceFragment, writeOffer } from '../../../node/sdp/answer.ts';
import { renegotiationLimits } from '../../../node/sdp/description.ts';
import { parseIceFragment } from '../../../node/sdp/ice-fragment.ts';
import { type MediaSection, parseOffer } from '../../../node/sdp/offer.ts';
import { producerParameters } from '../../../node/sdp/producer-parameters.ts';
import { chromium, ffmpeg, gstreamer, obs, offers, pion } from '../../kit/media/sdp-offers.ts';

const capabilitiesOf = (codec: Parameters<typeof roomCodecs>[0]) =>
  rtpCapabilitiesSchema.parse(clientCapabilities(generateRouterRtpCapabilities(roomCodecs(codec)) as never));
const capabilities = capabilitiesOf(null);
const transport = transportOptionsSchema.parse({
  id: 't',
  iceParameters: { usernameFragment: 'serverufrag', password: 'server-password-of-the-answer', iceLite: true },
  iceCandidates: [
    {
      foundation: 'udpcandidate',
      priority: 1_078_862_079,
      ip: '192.0.2.1',
      address: '192.0.2.1',
      protocol: 'udp',
      port: 5004,
      type: 'host',
    },
    {
      ...{ foundation: 'tcpcandidate', priority: 1_078_862_078, ip: '2001:db8::1', address: '2001:db8::1', protocol: 'tcp', port: 5004 },
      ...{ type: 'host', tcpType: 'passive' },
    },
  ],
  dtlsParameters: { role: 'auto', fingerprints: [{ algorithm: 'sha-256', value: Array(32).fill('AB').join(':') }] },
});

function media(text: string): MediaSection[] {
  return parseOffer(text).sections.filter((section) => section.kind !== 'application');
}

function section(text: string, kind: 'audio' | 'video'): MediaSection {
  return media(text).find((each) => each.kind === kind) ?? assert.fail(`no section of ${kind}`);
}

function answer(text: string, room = capabilities): string {
  const offer = parseOffer(text);
  const sections = media(text).map(
    (each): MediaAnswer => ({
      ...{ kind: each.kind, mid: each.mid, direction: 'recvonly', rids: each.rids, parameters: producerParameters(each, room) },
    }),
  );
  return writeAnswer({ offer, transport, sections, sessionId: 42n });
}

/** The offer with one line replaced. */
function changed(text: string, from: string | RegExp, to: string): string {
  const result = text.replace(from, to);
  assert.notEqual(result, text);
  return result;
}

describe('offers of encoders and browsers', () => {
  test('OBS publishes opus in stereo and H.264 by SSRC', () => {
    const [audio, video] = [section(obs, 'audio'), section(obs, 'video')].map((each) => producerParameters(each, capabilities));
    assert.deepEqual(audio?.encodings, [{ ssrc: 1283634041 }]);
    assert.equal(audio.mid, undefined);
    assert.deepEqual(audio.rtcp, { cname: 'qY9xp2sH0FZyx4hF', reducedSize: true });
    assert.deepEqual(
      video?.codecs.map(({ mimeType, payloadType, rtcpFeedback }) => [mimeType, payloadType, rtcpFeedback?.length]),
      [['video/H264', 96, 3]],
    );
    assert.deepEqual(video?.codecs[0]?.parameters, { 'profile-level-id': '42e01f', 'packetization-mode': 1, 'level-asymmetry-allowed': 1 });
    assert.equal(parseOffer(obs).dtls.role, 'client');
    const lines = answer(obs).split('\r\n');
    for (const line of [
      'a=setup:passive',
      'a=fmtp:111 minptime=10;useinbandfec=1;stereo=1',
      'a=recvonly',
      'a=group:BUNDLE 0 1',
      'a=ice-lite',
    ])
      assert.ok(lines.includes(line), line);
  });

  test('FFmpeg sends one section of a group of two, in the high profile, and waits for the DTLS client', () => {
    const offer = parseOffer(ffmpeg);
    assert.equal(offer.dtls.role, 'server');
    assert.equal(offer.ice.usernameFragment, '48213377');
    assert.equal(offer.sections.length, 1);
    const text = answer(ffmpeg);
    assert.match(text, /^a=setup:active$/m);
    assert.match(text, /^a=group:BUNDLE 1$/m);
    assert.match(text, /^a=fmtp:106 .*profile-level-id=64001f/m);
    assert.match(text, /^a=extmap-allow-mixed$/m);
  });

  test('GStreamer publishes with retransmissions in a section that is only bundled', () => {
    const video = producerParameters(section(gstreamer, 'video'), capabilities);
    assert.deepEqual(video.encodings, [{ ssrc: 2823084408, rtx: { ssrc: 3465131416 } }]);
    assert.deepEqual(
      video.codecs.map(({ payloadType }) => payloadType),
      [97, 98],
    );
    assert.match(answer(gstreamer), /^a=rtpmap:96 OPUS\/48000\/2$/m);
  });

  test('Pion publishes the first codec that the room forwards', () => {
    const parameters = producerParameters(section(pion, 'video'), capabilities);
    assert.deepEqual(
      parameters.codecs.map(({ mimeType }) => mimeType),
      ['video/VP8', 'video/rtx'],
    );
    assert.equal(parameters.mid, '0');
    const h264 = producerParameters(section(pion, 'video'), capabilitiesOf('h264'));
    assert.equal(h264.codecs[0]?.payloadType, 102);
  });

  test('a preferred codec precedes the others, if the section and the room have it', () => {
    const codecOf = (preferred: string, room = capabilities) =>
      producerParameters(section(chromium, 'video'), room, preferred).codecs.map(
        ({ mimeType, payloadType }) => `${mimeType} ${payloadType}`,
      );
    assert.deepEqual(codecOf('vp9'), ['video/VP9 98', 'video/rtx 99']);
    for (const unknown of ['', 'h265', 'rtx']) assert.deepEqual(codecOf(unknown), ['video/VP8 96', 'video/rtx 97']);
    assert.deepEqual(codecOf('vp9', capabilitiesOf('vp8')), ['video/VP8 96', 'video/rtx 97']);
  });

  test('Chromium publishes simulcast by RID, and keeps the order of its list in the answer', () => {
    const video = producerParameters(section(chromium, 'video'), capabilities);
    assert.deepEqual(
      video.encodings?.map(({ rid, scalabilityMode }) => [rid, scalabilityMode]),
      ['q', 'h', 'f'].map((rid) => [rid, 'L1T3']),
    );
    const parsed = parse(answer(chromium));
    const answered = parsed.media[1];
    assert.deepEqual(answered?.simulcast, { dir1: 'recv', list1: 'q;h;f' });
    assert.deepEqual(
      answered?.ext?.map(({ value }) => value),
      [14, 2, 13, 3, 5, 4, 10, 11],
    );
    assert.equal(answered?.payloads, '96 97');
    assert.deepEqual(
      parsed.media[0]?.candidates?.map(({ ip, transport: protocol, tcptype }) => [ip, protocol, tcptype]),
      [
        ['192.0.2.1', 'udp', undefined],
        ['2001:db8::1', 'tcp', 'passive'],
      ],
    );
  });

  for (const [name, text] of Object.entries(offers)) {
    test(`the answer to ${name} has the sections of the offer in its order`, () => {
      const offered = media(text).map(({ kind, mid }) => ({ type: kind, mid }));
      const answered = parse(answer(text)).media.map(({ type, mid }) => ({ type, mid: String(mid) }));
      assert.deepEqual(answered, offered);
    });
  }
});

describe('layers of simulcast', () => {
  const listed = (list: string, lines: string[] = list.split(';').map((rid) => `a=rid:${rid} send`)) =>
    changed(chromium, /a=rid:q send[\s\S]*$/, [...lines, `a=simulcast:send ${list}`, ''].join('\r\n'));
  const orders: [offered: string, fromSmallest: string[], why: string][] = [
    ['f;h;q', ['q', 'h', 'f'], 'common names'],
    ['h;m;l', ['l', 'm', 'h'], 'common names'],
    ['0;1;2', ['2', '1', '0'], 'numbers'],
    ['small;big', ['small', 'big'], 'unknown names'],
    ['~q;h,f', ['q', 'h'], 'a paused stream and an alternative'],
  ];
  for (const [list, order, why] of orders) {
    test(`of ${list} are in the order ${order.join(' ')}: ${why}`, () => {
      const lines = list.match(/\w+/g)?.map((rid) => `a=rid:${rid} send`) ?? [];
      const { encodings } = section(listed(list, lines), 'video');
      assert.deepEqual(
        encodings.map(({ rid }) => rid),
        order,
      );
    });
  }

  test('with limits are in the order of their limits', () => {
    const { encodings } = section(listed('a;b', ['a=rid:a send max-width=1280;max-height=720', 'a=rid:b send max-width=320']), 'video');
    assert.deepEqual(
      encodings.map(({ rid }) => rid),
      ['b', 'a'],
    );
  });

  test('of SSRC groups are in the order of the group', () => {
    const lines = ['a=ssrc-group:SIM 11 12', 'a=ssrc-group:FID 11 21', 'a=ssrc-group:FID 12 22'];
    const ssrcs = [11, 12, 21, 22].map((ssrc) => `a=ssrc:${ssrc} cname:c`);
    const { encodings } = section(changed(chromium, /a=rid:q send[\s\S]*$/, [...lines, ...ssrcs, ''].join('\r\n')), 'video');
    assert.deepEqual(
      encodings.map(({ ssrc, rtx }) => [ssrc, rtx?.ssrc]),
      [
        [11, 21],
        [12, 22],
      ],
    );
  });
});

describe('rejected offers', () => {
  const cases: [name: string, text: string, message: RegExp][] = [
    ['text that is not SDP', 'hello', /does not begin with v=0/],
    ['a line without a type', changed(obs, 's=-', 'session'), /Line 3 of the SDP is invalid/],
    ['an unreadable m= line', changed(obs, 'm=video 49442 ', 'm=video 49442/2 '), /Section 1 of the SDP has an invalid m= line/],
    ['an offer without sections', changed(obs, /m=audio[\s\S]*$/, ''), /no section/],
    ['an offer without a group', changed(obs, 'a=group:BUNDLE 0 1\r\n', ''), /must bundle all its sections/],
    ['a group without a section', changed(obs, 'BUNDLE 0 1', 'BUNDLE 0'), /must bundle all its sections/],
    ['a section without a mid', changed(obs, 'a=mid:1\r\n', ''), /Section 1 of the offer has no mid/],
    ['sections with one mid', changed(obs, 'a=mid:1', 'a=mid:0'), /same mid/],
    ['an offer without encryption', changed(obs, /a=fingerprint:.*\r\n/, ''), /no fingerprint/],
    ['plain RTP', changed(obs, /UDP\/TLS\/RTP\/SAVPF/g, 'RTP/AVP'), /Section 0 does not use encrypted RTP/],
    ['an offer without ICE', changed(obs, /a=ice-pwd:.*\r\n/, ''), /no valid ice-pwd/],
    ['separate RTCP', changed(obs, /a=rtcp-mux\r\n/, ''), /must use rtcp-mux/],
    ['a connection on hold', changed(obs, 'actpass', 'holdconn'), /setup attribute/],
    ['an unknown kind', changed(obs, 'm=video', 'm=text'), /Section 1 is neither audio nor video/],
    ['a RID that the section does not have', changed(chromium, 'send q;h;f', 'send q;h;x'), /names a RID/],
    ['two extensions with one id', changed(chromium, 'a=extmap:13', 'a=extmap:14'), /duplicate header extension/],
    ['an SSRC that is no number', changed(obs, 'a=ssrc:1283634042 cname', 'a=ssrc: cname'), /Section 1 has an invalid SSRC/],
  ];
  for (const [name, text, message] of cases) {
    test(`${name}: rejected with one message`, () => {
      assert.throws(() => answer(text), { code: 'offer_rejected', message });
    });
  }

  test('codecs that the room does not forward are rejected with their names and those of the room', () => {
    const h265 = changed(obs, 'H264/90000', 'H265/90000');
    assert.throws(() => answer(h265), { message: 'Section 1 offers H265 (profile 42e01f); this room forwards VP8, H264, VP9, AV1' });
    assert.throws(() => answer(obs, capabilitiesOf('vp8')), { message: 'Section 1 offers H264 (profile 42e01f); this room forwards VP8' });
  });

  test('a data section is read, and rejected without a transport for data', () => {
    const data = ['m=application 9 UDP/DTLS/SCTP webrtc-datachannel', 'c=IN IP4 0.0.0.0', 'a=mid:2', 'a=sctp-port:5000', ''].join('\r\n');
    const offer = parseOffer(`${changed(obs, 'BUNDLE 0 1', 'BUNDLE 0 1 2')}${data}`);
    assert.deepEqual(offer.sections[2], { kind: 'application', mid: '2', sctpPort: 5000, maxMessageSize: 65536 });
    const options = { offer, sections: offer.sections.slice(2) as never, sessionId: 1n };
    assert.throws(() => writeAnswer({ ...options, transport }), /data channels, which are not available/);
    const sctpParameters = { port: 5000, OS: 1024, MIS: 1024, maxMessageSize: 262144 };
    const text = writeAnswer({ ...options, transport: { ...transport, sctpParameters } });
    assert.match(
      text,
      /^m=application 9 UDP\/DTLS\/SCTP webrtc-datachannel\r\n[\s\S]*a=sctp-port:5000\r\n[\s\S]*a=max-message-size:262144/m,
    );
  });
});

describe('renegotiation', () => {
  const sctpParameters = { port: 5000, OS: 1024, MIS: 1024, maxMessageSize: 262144 };
  /** The second section of the offer was stopped. */
  const stopped = changed(changed(chromium, 'BUNDLE 0 1', 'BUNDLE 0'), 'm=video 9', 'm=video 0');

  test('a section that a browser stopped is rejected, and is not in the group of the answer', () => {
    const offer = parseOffer(stopped);
    const [audio, video] = media(stopped);
    assert.deepEqual([audio?.rejected, video?.rejected, video?.direction], [false, true, 'inactive']);
    assert.ok(audio && video);
    const parameters = producerParameters(audio, capabilities);
    const sections: AnswerSection[] = [
      { kind: 'audio', mid: '0', direction: 'inactive', parameters, rids: [] },
      { kind: 'video', mid: '1', direction: 'inactive', codecs: video.codecs },
    ];
    const answered = parse(writeAnswer({ offer, transport, sections, sessionId: 1n }));
    assert.deepEqual(
      answered.media.map(({ port, direction, iceUfrag }) => [port, direction, iceUfrag]),
      [
        [9, 'inactive', 'serverufrag'],
        [0, 'inactive', undefined],
      ],
    );
    assert.equal(answered.groups?.[0]?.mids, 0);
    // Otherwise the next offer of Chromium has no header extensions.
    assert.ok((answered.media[0]?.ext?.length ?? 0) > 0);
  });

  test('the track of a section is that of its msid', () => {
    assert.deepEqual(
      [section(chromium, 'audio').trackId, section(obs, 'video').trackId, section(ffmpeg, 'video').trackId],
      ['ce326ecf-a081-453a-8f9f-0605d5ef4128', '9N7ThW0sAoPBE0Qd-video', 'video'],
    );
  });

  test('an offer of the server has data channels, what it sends, and sections of ended tracks', () => {
    const parameters = {
      ...producerParameters(section(chromium, 'video'), capabilities),
      encodings: [{ ssrc: 11, rtx: { ssrc: 12 } }],
    };
    const sections: AnswerSection[] = [
      { kind: 'application', mid: 'data' },
      { kind: 'video', mid: '0', direction: 'inactive', codecs: [] },
      { kind: 'video', mid: '1', direction: 'sendonly', parameters, rids: [], msid: { id: 'stream', appdata: 'track' } },
    ];
    const text = writeOffer({ transport: { ...transport, sctpParameters }, sections, sessionId: 1n, version: 3 });
    const offered = parse(text);
    assert.equal(offered.origin?.sessionVersion, 3);
    assert.equal(offered.groups?.[0]?.mids, 'data 1');
    assert.deepEqual(
      offered.media.map(({ mid, port, setup, direction, payloads }) => [mid, port, setup, direction, payloads]),
      [
        ['data', 9, 'actpass', undefined, 'webrtc-datachannel'],
        [0, 0, undefined, 'inactive', 0],
        [1, 9, 'actpass', 'sendonly', '96 97'],
      ],
    );
    assert.match(text, /^a=msid:stream track$/m);
    assert.match(text, /^a=ssrc-group:FID 11 12$/m);
  });

  test('the limits of a client that negotiates again are higher', () => {
    const long = `${chromium}${'a=x-none\r\n'.repeat(2_000)}`;
    assert.throws(() => parseOffer(long), /more than 2000 lines/);
    assert.equal(parseOffer(long, renegotiationLimits).sections.length, 2);
  });
});

describe('ICE fragments', () => {
  const fragment = [
    ...['a=ice-options:trickle ice2', 'a=group:BUNDLE 0 1', 'm=audio 9 UDP/TLS/RTP/SAVPF 111', 'a=mid:0', 'a=ice-ufrag:ysXw'],
    ...['a=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k', 'a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0', ''],
  ].join('\r\n');

  test('of clients contain credentials in the section or in the session', () => {
    const expected = { usernameFragment: 'ysXw', password: 'vw5LmwG4y/e6dPP/zAP9Gp5k' };
    assert.deepEqual(parseIceFragment(fragment), expected);
    assert.deepEqual(parseIceFragment('a=ice-ufrag:ysXw\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\n'), expected);
    assert.throws(() => parseIceFragment('a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n'), /no valid ice-ufrag/);
    assert.throws(() => parseIceFragment(`${fragment}${fragment}`), /bundled section only/);
  });

  test('of the node contain its credentials and candidates, without lines of a whole description', () => {
    const text = writeIceFragment({ kind: 'audio', mid: '0' }, transport.iceParameters, transport);
    assert.deepEqual(text.split('\r\n'), [
      ...['a=ice-lite', 'a=ice-options:trickle'],
      ...['m=audio 9 UDP/TLS/RTP/SAVPF 0', 'a=mid:0', 'a=ice-ufrag:serverufrag', 'a=ice-pwd:server-password-of-the-answer'],
      'a=candidate:udpcandidate 1 udp 1078862079 192.0.2.1 5004 typ host',
      'a=candidate:tcpcandidate 1 tcp 1078862078 2001:db8::1 5004 typ host tcptype passive',
      ...['a=end-of-candidates', ''],
    ]);
  });
});
