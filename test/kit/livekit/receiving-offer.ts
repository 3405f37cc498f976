// Offer of a LiveKit client with one peer connection: a section for data channels, and empty sections for what it will receive.
import { SessionDescription } from '@livekit/protocol';
import type { Kind } from '../../../api/track.ts';

const dependencies = 'https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension';
const extensions: Readonly<Record<Kind, readonly string[]>> = {
  audio: ['a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level'],
  video: ['a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id', `a=extmap:12 ${dependencies}`],
};
const codecs: Readonly<Record<Kind, readonly string[]>> = {
  audio: ['a=rtpmap:63 opus/48000/2'],
  video: ['a=rtpmap:35 VP8/90000', 'a=rtcp-fb:35 nack pli', 'a=rtpmap:36 rtx/90000', 'a=fmtp:36 apt=35'],
};
const formats: Readonly<Record<Kind, string>> = { audio: '63', video: '35 36' };

/** With a section for each of these kinds, whose mids are 1, 2 and so on. */
export function receivingOffer(kinds: readonly Kind[], id = 1): SessionDescription {
  const mids = ['0', ...kinds.map((_, index) => String(index + 1))];
  const lines = [
    ...['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', `a=group:BUNDLE ${mids.join(' ')}`, 'a=extmap-allow-mixed'],
    ...['m=application 9 UDP/DTLS/SCTP webrtc-datachannel', 'c=IN IP4 0.0.0.0', ...transport, 'a=mid:0', 'a=sctp-port:5000'],
    ...kinds.flatMap((kind, index) => [
      ...[`m=${kind} 9 UDP/TLS/RTP/SAVPF ${formats[kind]}`, 'c=IN IP4 0.0.0.0', ...transport, `a=mid:${index + 1}`, 'a=recvonly'],
      ...['a=rtcp-mux', 'a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid', ...extensions[kind], ...codecs[kind]],
    ]),
  ];
  return new SessionDescription({ type: 'offer', sdp: `${lines.join('\r\n')}\r\n`, id });
}

const transport = [
  ...['a=ice-ufrag:Yn6B', 'a=ice-pwd:uDYUoAhvMh+6bAZ4bLPf7H', 'a=setup:actpass'],
  `a=fingerprint:sha-256 ${Array(32).fill('AB').join(':')}`,
];
