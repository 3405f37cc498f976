// SDP offers in the form that encoders and browsers send them.

const fingerprint = 'sha-256 EB:F1:2A:07:5C:DE:41:77:0B:9F:36:C4:1D:88:E2:53:A6:0F:94:7B:2E:C1:D5:68:39:FA:04:B7:8C:11:6E:D0';
const transportCc = 'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01';
const sdes = 'urn:ietf:params:rtp-hdrext:sdes';

function sdp(lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n`;
}

/** OBS 30 (libdatachannel): one codec, SSRCs, no header extensions; fingerprint at the session. */
export const obs = sdp([
  ...['v=0', 'o=rtc 1726868318 0 IN IP4 127.0.0.1', 's=-', 't=0 0', 'a=group:BUNDLE 0 1', 'a=group:LS 0 1', 'a=msid-semantic:WMS *'],
  ...[
    'a=setup:actpass',
    'a=ice-ufrag:Yn6B',
    'a=ice-pwd:uDYUoAhvMh+6bAZ4bLPf7H',
    'a=ice-options:ice2,trickle',
    `a=fingerprint:${fingerprint}`,
  ],
  ...['m=audio 49442 UDP/TLS/RTP/SAVPF 111', 'c=IN IP4 192.168.1.101', 'a=mid:0', 'a=sendonly'],
  ...['a=ssrc:1283634041 cname:qY9xp2sH0FZyx4hF', 'a=ssrc:1283634041 msid:9N7ThW0sAoPBE0Qd 9N7ThW0sAoPBE0Qd-audio'],
  ...['a=msid:9N7ThW0sAoPBE0Qd 9N7ThW0sAoPBE0Qd-audio', 'a=rtcp-mux', 'a=rtpmap:111 opus/48000/2'],
  ...['a=fmtp:111 minptime=10;maxaveragebitrate=96000;stereo=1;sprop-stereo=1;useinbandfec=1'],
  ...['a=candidate:1 1 UDP 2114977791 192.168.1.101 49442 typ host', 'a=end-of-candidates'],
  ...['m=video 49442 UDP/TLS/RTP/SAVPF 96', 'c=IN IP4 192.168.1.101', 'a=mid:1', 'a=sendonly'],
  ...['a=ssrc:1283634042 cname:qY9xp2sH0FZyx4hF', 'a=ssrc:1283634042 msid:9N7ThW0sAoPBE0Qd 9N7ThW0sAoPBE0Qd-video'],
  ...['a=msid:9N7ThW0sAoPBE0Qd 9N7ThW0sAoPBE0Qd-video', 'a=rtcp-mux', 'a=rtpmap:96 H264/90000'],
  ...['a=rtcp-fb:96 nack', 'a=rtcp-fb:96 nack pli', 'a=rtcp-fb:96 goog-remb'],
  'a=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1',
]);

/** The whip muxer of FFmpeg: waits for the DTLS client, and its group lists both sections even if only one exists. */
export const ffmpeg = sdp([
  ...['v=0', 'o=FFmpeg 4489045141692799359 2 IN IP4 127.0.0.1', 's=FFmpegPublishSession', 't=0 0', 'a=group:BUNDLE 0 1'],
  ...['a=extmap-allow-mixed', 'a=msid-semantic: WMS', 'm=video 9 UDP/TLS/RTP/SAVPF 106', 'c=IN IP4 0.0.0.0', 'a=ice-ufrag:48213377'],
  ...['a=ice-pwd:6f1ee3a2096c8d2f5a7b11c2d3e4f506', `a=fingerprint:${fingerprint}`, 'a=setup:passive', 'a=mid:1', 'a=sendonly'],
  ...['a=msid:FFmpeg video', 'a=rtcp-mux', 'a=rtcp-rsize', 'a=rtpmap:106 H264/90000'],
  ...['a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=64001f'],
  ...['a=ssrc:2094867145 cname:FFmpeg', 'a=ssrc:2094867145 msid:FFmpeg video'],
]);

/** whipclientsink of GStreamer: dynamic payload types, retransmissions, a section that is only bundled. */
export const gstreamer = sdp([
  ...['v=0', 'o=- 4962303333179871722 0 IN IP4 0.0.0.0', 's=-', 't=0 0', 'a=ice-options:trickle', 'a=group:BUNDLE audio0 video1'],
  ...['m=audio 9 UDP/TLS/RTP/SAVPF 96', 'c=IN IP4 0.0.0.0', 'a=setup:actpass', 'a=ice-ufrag:cJl9eNnGpPbGPeCwUQjEVmsKJJwjCYHb'],
  ...['a=ice-pwd:rGaYGSlqTMRxMQyp8M7lk3UnJ8PzZbKd', 'a=rtcp-mux', 'a=rtcp-rsize', 'a=sendonly', 'a=rtpmap:96 OPUS/48000/2'],
  ...['a=rtcp-fb:96 nack', 'a=rtcp-fb:96 transport-cc', `a=extmap:1 ${transportCc}`, 'a=fmtp:96 sprop-maxcapturerate=48000;sprop-stereo=0'],
  ...['a=ssrc:3484078950 msid:user2437218301@host-5e0c webrtctransceiver0', 'a=ssrc:3484078950 cname:user2437218301@host-5e0c'],
  ...['a=mid:audio0', `a=fingerprint:${fingerprint}`],
  ...['m=video 0 UDP/TLS/RTP/SAVPF 97 98', 'c=IN IP4 0.0.0.0', 'a=setup:actpass', 'a=ice-ufrag:cJl9eNnGpPbGPeCwUQjEVmsKJJwjCYHb'],
  ...['a=ice-pwd:rGaYGSlqTMRxMQyp8M7lk3UnJ8PzZbKd', 'a=bundle-only', 'a=rtcp-mux', 'a=rtcp-rsize', 'a=sendonly', 'a=rtpmap:97 H264/90000'],
  ...['a=rtcp-fb:97 nack', 'a=rtcp-fb:97 nack pli', 'a=rtcp-fb:97 ccm fir', 'a=rtcp-fb:97 transport-cc', `a=extmap:1 ${transportCc}`],
  ...['a=fmtp:97 packetization-mode=1;profile-level-id=42c01f;sprop-parameter-sets=Z0LAH9kAUAW7ARAAAAMAEAAAAwPA8YMkgA==,aMuDyyA='],
  ...['a=rtpmap:98 rtx/90000', 'a=fmtp:98 apt=97', 'a=ssrc-group:FID 2823084408 3465131416'],
  ...['a=ssrc:2823084408 cname:user2437218301@host-5e0c', 'a=ssrc:3465131416 cname:user2437218301@host-5e0c'],
  ...['a=mid:video1', `a=fingerprint:${fingerprint}`],
]);

/** Pion: codecs that rooms do not have, and feedback with a trailing space. */
export const pion = sdp([
  ...['v=0', 'o=- 5459573424543284218 1726868318 IN IP4 0.0.0.0', 's=-', 't=0 0', 'a=msid-semantic:WMS*', `a=fingerprint:${fingerprint}`],
  ...['a=extmap-allow-mixed', 'a=group:BUNDLE 0 1', 'm=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103 45 46', 'c=IN IP4 0.0.0.0'],
  ...[
    'a=setup:actpass',
    'a=mid:0',
    'a=ice-ufrag:PTzrXvXGrBRRpFzJ',
    'a=ice-pwd:DuZVlhkQmjOWcAQgvKBAzHVhWqUvVeVU',
    'a=rtcp-mux',
    'a=rtcp-rsize',
  ],
  ...['a=rtpmap:96 VP8/90000', 'a=rtcp-fb:96 goog-remb ', 'a=rtcp-fb:96 ccm fir', 'a=rtcp-fb:96 nack ', 'a=rtcp-fb:96 nack pli'],
  ...['a=rtcp-fb:96 transport-cc ', 'a=rtpmap:97 rtx/90000', 'a=fmtp:97 apt=96', 'a=rtpmap:102 H264/90000'],
  ...['a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f', 'a=rtpmap:103 rtx/90000', 'a=fmtp:103 apt=102'],
  ...['a=rtpmap:45 AV1/90000', 'a=rtpmap:46 rtx/90000', 'a=fmtp:46 apt=45', `a=extmap:1 ${sdes}:mid`, `a=extmap:4 ${transportCc}`],
  ...['a=ssrc-group:FID 1845621743 1203998123', 'a=ssrc:1845621743 cname:pion', 'a=ssrc:1203998123 cname:pion', 'a=msid:pion video'],
  ...['a=sendonly', 'm=audio 9 UDP/TLS/RTP/SAVPF 111 9 0 8', 'c=IN IP4 0.0.0.0', 'a=setup:actpass', 'a=mid:1'],
  ...['a=ice-ufrag:PTzrXvXGrBRRpFzJ', 'a=ice-pwd:DuZVlhkQmjOWcAQgvKBAzHVhWqUvVeVU', 'a=rtcp-mux', 'a=rtcp-rsize'],
  ...['a=rtpmap:111 opus/48000/2', 'a=fmtp:111 minptime=10;useinbandfec=1', 'a=rtcp-fb:111 transport-cc ', 'a=rtpmap:9 G722/8000'],
  ...[
    'a=rtpmap:0 PCMU/8000',
    'a=rtpmap:8 PCMA/8000',
    `a=extmap:1 ${sdes}:mid`,
    'a=ssrc:2230954121 cname:pion',
    'a=msid:pion audio',
    'a=sendonly',
  ],
]);

const chromiumTransport = [
  ...['c=IN IP4 0.0.0.0', 'a=rtcp:9 IN IP4 0.0.0.0', 'a=ice-ufrag:EsAw', 'a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1', 'a=ice-options:trickle'],
  ...[`a=fingerprint:${fingerprint}`, 'a=setup:actpass'],
];

/** Chromium: simulcast by RIDs without SSRCs, and many codecs. */
export const chromium = sdp([
  ...[
    'v=0',
    'o=- 5228595038118931041 2 IN IP4 127.0.0.1',
    's=-',
    't=0 0',
    'a=group:BUNDLE 0 1',
    'a=extmap-allow-mixed',
    'a=msid-semantic: WMS',
  ],
  ...['m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126', ...chromiumTransport, 'a=mid:0'],
  ...['a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level', 'a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time'],
  ...[`a=extmap:3 ${transportCc}`, `a=extmap:4 ${sdes}:mid`, 'a=sendonly', 'a=msid:- ce326ecf-a081-453a-8f9f-0605d5ef4128'],
  ...['a=rtcp-mux', 'a=rtcp-rsize', 'a=rtpmap:111 opus/48000/2', 'a=rtcp-fb:111 transport-cc', 'a=fmtp:111 minptime=10;useinbandfec=1'],
  ...['a=rtpmap:63 red/48000/2', 'a=fmtp:63 111/111', 'a=rtpmap:9 G722/8000', 'a=rtpmap:0 PCMU/8000', 'a=rtpmap:8 PCMA/8000'],
  ...['a=rtpmap:13 CN/8000', 'a=rtpmap:110 telephone-event/48000', 'a=rtpmap:126 telephone-event/8000'],
  ...['a=ssrc:3510681183 cname:loWmmNqvBPfTwLKO', 'a=ssrc:3510681183 msid:- ce326ecf-a081-453a-8f9f-0605d5ef4128'],
  ...['m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103 45 46 98 99 116 117 118', ...chromiumTransport, 'a=mid:1'],
  ...['a=extmap:14 urn:ietf:params:rtp-hdrext:toffset', 'a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time'],
  ...[
    'a=extmap:13 urn:3gpp:video-orientation',
    `a=extmap:3 ${transportCc}`,
    'a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay',
  ],
  ...[`a=extmap:4 ${sdes}:mid`, `a=extmap:10 ${sdes}:rtp-stream-id`, `a=extmap:11 ${sdes}:repaired-rtp-stream-id`, 'a=sendonly'],
  ...['a=msid:- 3956b460-40f4-4d05-acef-03abcdd8c6fd', 'a=rtcp-mux', 'a=rtcp-rsize', 'a=rtpmap:96 VP8/90000', 'a=rtcp-fb:96 goog-remb'],
  ...['a=rtcp-fb:96 transport-cc', 'a=rtcp-fb:96 ccm fir', 'a=rtcp-fb:96 nack', 'a=rtcp-fb:96 nack pli', 'a=rtpmap:97 rtx/90000'],
  ...['a=fmtp:97 apt=96', 'a=rtpmap:102 H264/90000', 'a=rtcp-fb:102 nack', 'a=rtcp-fb:102 nack pli'],
  ...['a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f', 'a=rtpmap:103 rtx/90000', 'a=fmtp:103 apt=102'],
  ...[
    'a=rtpmap:45 AV1/90000',
    'a=fmtp:45 level-idx=5;profile=0;tier=0',
    'a=rtpmap:46 rtx/90000',
    'a=fmtp:46 apt=45',
    'a=rtpmap:98 VP9/90000',
  ],
  ...['a=fmtp:98 profile-id=0', 'a=rtpmap:99 rtx/90000', 'a=fmtp:99 apt=98', 'a=rtpmap:116 red/90000', 'a=rtpmap:117 rtx/90000'],
  ...['a=fmtp:117 apt=116', 'a=rtpmap:118 ulpfec/90000', 'a=rid:q send', 'a=rid:h send', 'a=rid:f send', 'a=simulcast:send q;h;f'],
]);

export const offers = { obs, ffmpeg, gstreamer, pion, chromium };
