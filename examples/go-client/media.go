// WebRTC without SDP: ICE, DTLS and RTP of one transport with pion's ORTC API.
package main

import (
	"errors"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

type codec struct {
	Kind                 string `json:"kind"`
	MimeType             string `json:"mimeType"`
	PreferredPayloadType uint8  `json:"preferredPayloadType"`
	ClockRate            uint32 `json:"clockRate"`
	Channels             uint16 `json:"channels,omitempty"`
	Parameters           object `json:"parameters"`
}

// understood filters the codecs of the room that this client supports: Opus and VP8, without retransmissions and header extensions.
func understood(room []codec) (own []codec) {
	for _, c := range room {
		if c.MimeType == webrtc.MimeTypeOpus || c.MimeType == webrtc.MimeTypeVP8 {
			own = append(own, c)
		}
	}
	return own
}

// newAPI configures pion with the payload types of the room.
func newAPI(codecs []codec) (*webrtc.API, error) {
	engine, interceptors, settings := &webrtc.MediaEngine{}, &interceptor.Registry{}, webrtc.SettingEngine{}
	for _, c := range codecs {
		parameters := webrtc.RTPCodecParameters{RTPCodecCapability: capability(c), PayloadType: webrtc.PayloadType(c.PreferredPayloadType)}
		if err := engine.RegisterCodec(parameters, webrtc.NewRTPCodecType(c.Kind)); err != nil {
			return nil, err
		}
	}
	// RTCP reports: without them the server cannot detect packet loss.
	if err := webrtc.ConfigureRTCPReports(interceptors); err != nil {
		return nil, err
	}
	settings.SetIncludeLoopbackCandidate(true)
	return webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(interceptors), webrtc.WithSettingEngine(settings)), nil
}

func capability(c codec) webrtc.RTPCodecCapability {
	return webrtc.RTPCodecCapability{MimeType: c.MimeType, ClockRate: c.ClockRate, Channels: c.Channels}
}

type transport struct {
	ID             string                                          `json:"id"`
	IceParameters  webrtc.ICEParameters                            `json:"iceParameters"`
	IceCandidates  []candidate                                     `json:"iceCandidates"`
	DtlsParameters struct{ Fingerprints []webrtc.DTLSFingerprint } `json:"dtlsParameters"`
	dtls           *webrtc.DTLSTransport
}

type candidate struct {
	Foundation string `json:"foundation"`
	Priority   uint32 `json:"priority"`
	Address    string `json:"address"`
	Port       uint16 `json:"port"`
	Protocol   string `json:"protocol"`
}

// newTransport requests a transport, sends the local fingerprint and connects ICE and DTLS.
func newTransport(api *webrtc.API, s *socket, direction string) (*transport, error) {
	t := &transport{}
	if err := s.request("createTransport", object{"direction": direction}, t); err != nil {
		return nil, err
	}
	gatherer, err := api.NewICEGatherer(webrtc.ICEGatherOptions{})
	if err != nil {
		return nil, err
	}
	ice := api.NewICETransport(gatherer)
	if t.dtls, err = api.NewDTLSTransport(ice, nil); err != nil {
		return nil, err
	}
	local, err := t.dtls.GetLocalParameters()
	if err != nil {
		return nil, err
	}
	// The server needs no candidates: it responds to the source address of connectivity checks (ICE lite).
	ours := object{"role": "client", "fingerprints": local.Fingerprints}
	gathered := make(chan struct{})
	gatherer.OnLocalCandidate(func(found *webrtc.ICECandidate) {
		if found == nil {
			close(gathered)
		}
	})
	connected := s.request("connectTransport", object{"transportId": t.ID, "dtlsParameters": ours}, nil)
	if err := errors.Join(connected, gatherer.Gather()); err != nil {
		return nil, err
	}
	<-gathered
	var candidates []webrtc.ICECandidate
	for _, c := range t.IceCandidates {
		if c.Protocol == "udp" {
			candidates = append(candidates, webrtc.ICECandidate{Foundation: c.Foundation, Priority: c.Priority, Address: c.Address,
				Port: c.Port, Protocol: webrtc.ICEProtocolUDP, Typ: webrtc.ICECandidateTypeHost, Component: 1})
		}
	}
	controlling := webrtc.ICERoleControlling
	if err := errors.Join(ice.SetRemoteCandidates(candidates), ice.Start(gatherer, t.IceParameters, &controlling)); err != nil {
		return nil, err
	}
	// Role of the remote side: this side is the DTLS client.
	return t, t.dtls.Start(webrtc.DTLSParameters{Role: webrtc.DTLSRoleServer, Fingerprints: t.DtlsParameters.Fingerprints})
}

// publish announces a track and sends the payload every 20 ms.
func publish(api *webrtc.API, s *socket, via *transport, c codec, payload []byte) error {
	track, err := webrtc.NewTrackLocalStaticRTP(capability(c), c.Kind, "go-client")
	if err != nil {
		return err
	}
	sender, err := api.NewRTPSender(track, via.dtls)
	if err != nil {
		return err
	}
	parameters := sender.GetParameters()
	media := object{"mimeType": c.MimeType, "payloadType": c.PreferredPayloadType, "clockRate": c.ClockRate}
	if c.Channels > 0 {
		media["channels"] = c.Channels
	}
	rtpParameters := object{
		"codecs":    []any{media},
		"encodings": []any{object{"ssrc": parameters.Encodings[0].SSRC}},
		"rtcp":      object{"cname": "go-client"},
	}
	data := object{"transportId": via.ID, "kind": c.Kind, "key": c.Kind, "rtpParameters": rtpParameters}
	if err := errors.Join(sender.Send(parameters), s.request("publish", data, nil)); err != nil {
		return err
	}
	// The server requests key frames by RTCP; every frame is one, so requests are only read.
	go func() {
		for err := error(nil); err == nil; {
			_, _, err = sender.ReadRTCP()
		}
	}()
	go func() {
		header := rtp.Header{Version: 2, Marker: true}
		for s.ctx.Err() == nil {
			header.SequenceNumber++
			header.Timestamp += c.ClockRate / 50
			if track.WriteRTP(&rtp.Packet{Header: header, Payload: payload}) != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return nil
}
