package sfu

import (
	"github.com/pion/dtls/v3"
	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/sdp/v3"
	"github.com/pion/transport/v4"
	"github.com/pion/webrtc/v4"
)

// VideoFeedback is what browsers negotiate for video.
var VideoFeedback = []webrtc.RTCPFeedback{
	{Type: "goog-remb"}, {Type: "ccm", Parameter: "fir"}, {Type: "nack"}, {Type: "nack", Parameter: "pli"}, {Type: "transport-cc"},
}

// NewAPI returns the WebRTC of a participant: Opus, VP8 with retransmission, IPv4 on loopback, and one SRTP profile, so that all servers
// encrypt with the same cipher. network is nil if its datagrams are not changed.
func NewAPI(network *Network) (*webrtc.API, error) {
	media := &webrtc.MediaEngine{}
	if err := registerCodecs(media); err != nil {
		return nil, err
	}
	interceptors := &interceptor.Registry{}
	for _, configure := range []func(*webrtc.MediaEngine, *interceptor.Registry) error{
		webrtc.ConfigureNack,
		func(_ *webrtc.MediaEngine, registry *interceptor.Registry) error {
			return webrtc.ConfigureRTCPReports(registry)
		},
		webrtc.ConfigureTWCCHeaderExtensionSender,
		webrtc.ConfigureTWCCSender,
	} {
		if err := configure(media, interceptors); err != nil {
			return nil, err
		}
	}
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetInterfaceFilter(func(name string) bool { return name == "lo" })
	// The only addresses are those of loopback, and mDNS reads from a closed Network forever.
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetSRTPProtectionProfiles(dtls.SRTP_AEAD_AES_128_GCM)
	if network != nil {
		settings.SetNet(transport.Net(network))
	}
	return webrtc.NewAPI(
		webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(interceptors), webrtc.WithSettingEngine(settings)), nil
}

func registerCodecs(media *webrtc.MediaEngine) error {
	opus := webrtc.RTPCodecParameters{PayloadType: 111, RTPCodecCapability: webrtc.RTPCodecCapability{
		MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2, SDPFmtpLine: "minptime=10;useinbandfec=1"}}
	vp8 := webrtc.RTPCodecParameters{PayloadType: 96, RTPCodecCapability: webrtc.RTPCodecCapability{
		MimeType: webrtc.MimeTypeVP8, ClockRate: 90000, RTCPFeedback: VideoFeedback}}
	rtx := webrtc.RTPCodecParameters{PayloadType: 97, RTPCodecCapability: webrtc.RTPCodecCapability{
		MimeType: webrtc.MimeTypeRTX, ClockRate: 90000, SDPFmtpLine: "apt=96"}}
	if err := media.RegisterCodec(opus, webrtc.RTPCodecTypeAudio); err != nil {
		return err
	}
	for _, codec := range []webrtc.RTPCodecParameters{vp8, rtx} {
		if err := media.RegisterCodec(codec, webrtc.RTPCodecTypeVideo); err != nil {
			return err
		}
	}
	for kind, uris := range map[webrtc.RTPCodecType][]string{
		webrtc.RTPCodecTypeAudio: {sdp.SDESMidURI, sdp.AudioLevelURI},
		webrtc.RTPCodecTypeVideo: {sdp.SDESMidURI, sdp.ABSSendTimeURI},
	} {
		for _, uri := range uris {
			if err := media.RegisterHeaderExtension(webrtc.RTPHeaderExtensionCapability{URI: uri}, kind); err != nil {
				return err
			}
		}
	}
	return nil
}
