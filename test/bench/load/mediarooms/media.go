package mediarooms

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/pion/webrtc/v4"
	"mediarooms/bench-load/sfu"
)

func (s *session) publish(ctx context.Context, transport *transportOptions) error {
	connection, err := s.newConnection(transport)
	if err != nil {
		return err
	}
	s.pub = connection
	senders := make([]*webrtc.RTPSender, len(s.participant.Publish))
	for index, track := range s.participant.Publish {
		init := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly}
		transceiver, err := connection.AddTransceiverFromTrack(track, init)
		if err != nil {
			return err
		}
		senders[index] = transceiver.Sender()
	}
	offer, err := connection.CreateOffer(nil)
	if err != nil {
		return err
	}
	if err := connection.SetLocalDescription(offer); err != nil {
		return err
	}
	// Sections are in the order in which the transceivers were added.
	sections, err := readOffer(offer.SDP, s.router)
	if err != nil {
		return err
	}
	if len(sections) != len(senders) {
		return fmt.Errorf("the offer has %d sections for %d tracks", len(sections), len(senders))
	}
	answer := webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answerText(transport, sections)}
	if err := connection.SetRemoteDescription(answer); err != nil {
		return err
	}
	nominate(connection)
	var responses []<-chan response
	for index, track := range s.participant.Publish {
		parameters := publishedParameters(sections[index], senders[index], track)
		responses = append(responses, s.request("publish",
			object{"transportId": transport.ID, "kind": sections[index].kind, "rtpParameters": parameters}))
	}
	for _, each := range responses {
		if err := s.wait(ctx, each, nil); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	if s.participant.OnSender != nil {
		for index, track := range s.participant.Publish {
			s.participant.OnSender(track, senders[index])
		}
	}
	return nil
}

func publishedParameters(of section, sender *webrtc.RTPSender, track webrtc.TrackLocal) rtpParameters {
	parameters := of.parameters
	sent := sender.GetParameters().Encodings[0]
	encoding := encoding{SSRC: uint32(sent.SSRC)}
	if sent.RTX.SSRC != 0 && len(parameters.Codecs) > 1 {
		encoding.RTX = &ssrcOf{uint32(sent.RTX.SSRC)}
	}
	parameters.Encodings = append(parameters.Encodings, encoding)
	parameters.RTCP.CNAME, parameters.RTCP.ReducedSize = track.StreamID(), true
	return parameters
}

func (s *session) openReceiver() error {
	connection, err := s.newConnection(&s.recv)
	if err != nil {
		return err
	}
	s.sub = connection
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			s.mark(func(marks *sfu.Marks) { marks.Connected = time.Now() })
		}
	})
	connection.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		if track.ID() == probatorName {
			drain(track)
		} else if s.participant.OnTrack != nil {
			s.participant.OnTrack(track, receiver)
		}
	})
	go s.receive()
	return nil
}

// drain reads padding, which is counted nowhere.
func drain(track *webrtc.TrackRemote) {
	buffer := make([]byte, 2048)
	for {
		if _, _, err := track.Read(buffer); err != nil {
			return
		}
	}
}

// receive negotiates each batch of tracks once, as the client library does.
func (s *session) receive() {
	var sections []section
	var batch []subscribedTrack
	for version := 1; ; {
		select {
		case <-s.done:
			return
		case batch = <-s.tracks:
		}
		if len(sections) == 0 {
			sections = append(sections, probator(s.receivable))
		}
		var ids []string
		for _, track := range batch {
			sections = append(sections, section{kind: track.Kind, stream: track.PeerID, track: track.TrackID, parameters: track.RTPParameters})
			ids = append(ids, track.TrackID)
		}
		version++
		if err := s.negotiate(offerText(version, &s.recv, sections)); err != nil {
			log.Printf("%s: receiving: %v", s.participant.Identity, err)
			return
		}
		if version == 2 {
			nominate(s.sub)
		}
		s.notify("tracksReady", object{"trackIds": ids})
	}
}

func (s *session) negotiate(offer string) error {
	if err := s.sub.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}); err != nil {
		return err
	}
	answer, err := s.sub.CreateAnswer(nil)
	if err != nil {
		return err
	}
	return s.sub.SetLocalDescription(answer)
}
