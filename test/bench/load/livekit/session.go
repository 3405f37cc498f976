package livekit

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/signalling"
	"github.com/pion/webrtc/v4"
	"google.golang.org/protobuf/proto"
	"mediarooms/bench-load/sfu"
)

const (
	publisher  = livekit.SignalTarget_PUBLISHER
	subscriber = livekit.SignalTarget_SUBSCRIBER
)

// session is one participant: one peer connection to send, one to receive, and the websocket.
type session struct {
	participant sfu.Participant
	api         *webrtc.API
	socket      *websocket.Conn
	writing     sync.Mutex
	pub, sub    *webrtc.PeerConnection
	// Candidates that arrived before their description; used by the read loop only.
	early    map[livekit.SignalTarget][]webrtc.ICECandidateInit
	acked    chan string
	answered chan struct{}
	done     chan struct{}
	once     sync.Once
	mu       sync.Mutex
	marks    sfu.Marks
}

// Join implements sfu.Server.
func (s *Server) Join(ctx context.Context, api *webrtc.API, participant sfu.Participant) (sfu.Session, error) {
	began := time.Now()
	token, err := s.participantToken(participant)
	if err != nil {
		return nil, err
	}
	joined := &session{participant: participant, api: api, early: map[livekit.SignalTarget][]webrtc.ICECandidateInit{},
		acked: make(chan string, 8), answered: make(chan struct{}, 1), done: make(chan struct{})}
	joined.marks.Start = time.Now()
	joined.marks.Setup = joined.marks.Start.Sub(began)
	// This path has one peer connection for each direction, as Mediarooms has.
	url := fmt.Sprintf("ws://%s/rtc?protocol=17&sdk=go&auto_subscribe=%t", s.Address, participant.Subscribe)
	joined.socket, _, err = websocket.DefaultDialer.DialContext(ctx, url, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		return nil, err
	}
	if err := joined.enter(ctx); err != nil {
		joined.Close()
		return nil, err
	}
	return joined, nil
}

func (s *session) enter(ctx context.Context) error {
	first, err := s.read()
	if err != nil {
		return err
	}
	welcome := first.GetJoin()
	if welcome == nil {
		return fmt.Errorf("the first message is %T", first.Message)
	}
	s.marks.Joined = time.Now()
	if s.sub, err = s.newConnection(subscriber); err != nil {
		return err
	}
	s.sub.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		if s.participant.OnTrack != nil {
			s.participant.OnTrack(track, receiver)
		}
	})
	if len(s.participant.Publish) > 0 {
		if s.pub, err = s.newConnection(publisher); err != nil {
			return err
		}
	}
	go s.run()
	go s.ping(max(time.Second, time.Duration(welcome.PingInterval)*time.Second))
	if s.pub == nil {
		return nil
	}
	return s.publish(ctx)
}

func (s *session) newConnection(target livekit.SignalTarget) (*webrtc.PeerConnection, error) {
	connection, err := s.api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, err
	}
	connection.OnICECandidate(func(candidate *webrtc.ICECandidate) {
		if candidate != nil {
			trickle := signalling.ToProtoTrickle(candidate.ToJSON(), target, false)
			_ = s.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Trickle{Trickle: trickle}})
		}
	})
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if target == subscriber && state == webrtc.PeerConnectionStateConnected {
			s.mu.Lock()
			s.marks.Connected = time.Now()
			s.mu.Unlock()
		}
	})
	return connection, nil
}

func (s *session) publish(ctx context.Context) error {
	for _, track := range s.participant.Publish {
		if err := s.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_AddTrack{AddTrack: addTrack(track)}}); err != nil {
			return err
		}
	}
	for range s.participant.Publish {
		if err := wait(ctx, s.acked, s.done); err != nil {
			return err
		}
	}
	senders := map[webrtc.TrackLocal]*webrtc.RTPSender{}
	for _, track := range s.participant.Publish {
		init := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly}
		transceiver, err := s.pub.AddTransceiverFromTrack(track, init)
		if err != nil {
			return err
		}
		senders[track] = transceiver.Sender()
	}
	offer, err := s.pub.CreateOffer(nil)
	if err != nil {
		return err
	}
	if err := s.pub.SetLocalDescription(offer); err != nil {
		return err
	}
	description := signalling.ToProtoSessionDescription(offer, 1, nil)
	if err := s.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Offer{Offer: description}}); err != nil {
		return err
	}
	if err := wait(ctx, s.answered, s.done); err != nil {
		return err
	}
	if s.participant.OnSender != nil {
		for track, sender := range senders {
			s.participant.OnSender(track, sender)
		}
	}
	return nil
}

func addTrack(track webrtc.TrackLocal) *livekit.AddTrackRequest {
	request := &livekit.AddTrackRequest{Cid: track.ID(), Name: track.ID(), DisableRed: true}
	if track.Kind() != webrtc.RTPCodecTypeVideo {
		request.Type, request.Source = livekit.TrackType_AUDIO, livekit.TrackSource_MICROPHONE
		return request
	}
	layers := []*livekit.VideoLayer{{Quality: livekit.VideoQuality_HIGH, Width: 1280, Height: 720, Bitrate: 1_500_000}}
	request.Type, request.Source, request.Width, request.Height = livekit.TrackType_VIDEO, livekit.TrackSource_CAMERA, 1280, 720
	request.Layers = layers
	request.SimulcastCodecs = []*livekit.SimulcastCodec{{Codec: "vp8", Cid: track.ID(), Layers: layers}}
	return request
}

func wait[Value any](ctx context.Context, values <-chan Value, done <-chan struct{}) error {
	select {
	case <-values:
		return nil
	case <-done:
		return errors.New("the server closed the socket")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) read() (*livekit.SignalResponse, error) {
	_, content, err := s.socket.ReadMessage()
	if err != nil {
		return nil, err
	}
	message := &livekit.SignalResponse{}
	return message, proto.Unmarshal(content, message)
}

func (s *session) send(message *livekit.SignalRequest) error {
	content, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.socket.WriteMessage(websocket.BinaryMessage, content)
}

func (s *session) ping(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.done:
			return
		case now := <-ticker.C:
			ping := &livekit.Ping{Timestamp: now.UnixMilli()}
			_ = s.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_PingReq{PingReq: ping}})
		}
	}
}

func (s *session) run() {
	defer s.stop()
	for {
		message, err := s.read()
		if err != nil {
			return
		}
		if err := s.take(message); err != nil {
			log.Printf("%s: %v", s.participant.Identity, err)
			return
		}
	}
}

func (s *session) take(message *livekit.SignalResponse) error {
	switch value := message.Message.(type) {
	case *livekit.SignalResponse_Offer:
		return s.answer(value.Offer)
	case *livekit.SignalResponse_Answer:
		description, _, _ := signalling.FromProtoSessionDescription(value.Answer)
		if err := s.pub.SetRemoteDescription(description); err != nil {
			return err
		}
		s.addEarly(publisher)
		s.answered <- struct{}{}
	case *livekit.SignalResponse_Trickle:
		candidate, err := signalling.FromProtoTrickle(value.Trickle)
		if err != nil || candidate.Candidate == "" {
			return err
		}
		return s.addCandidate(value.Trickle.Target, candidate)
	case *livekit.SignalResponse_TrackPublished:
		s.acked <- value.TrackPublished.Cid
	case *livekit.SignalResponse_Leave:
		select {
		case <-s.done:
		default:
			return fmt.Errorf("the server ended the session: %v", value.Leave.Reason)
		}
	}
	return nil
}

func (s *session) answer(offer *livekit.SessionDescription) error {
	description, id, _ := signalling.FromProtoSessionDescription(offer)
	if err := s.sub.SetRemoteDescription(description); err != nil {
		return err
	}
	s.addEarly(subscriber)
	answer, err := s.sub.CreateAnswer(nil)
	if err != nil {
		return err
	}
	if err := s.sub.SetLocalDescription(answer); err != nil {
		return err
	}
	return s.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Answer{
		Answer: signalling.ToProtoSessionDescription(answer, id, nil)}})
}

func (s *session) connection(target livekit.SignalTarget) *webrtc.PeerConnection {
	if target == publisher {
		return s.pub
	}
	return s.sub
}

func (s *session) addCandidate(target livekit.SignalTarget, candidate webrtc.ICECandidateInit) error {
	connection := s.connection(target)
	if connection == nil {
		return nil
	}
	if connection.RemoteDescription() == nil {
		s.early[target] = append(s.early[target], candidate)
		return nil
	}
	return connection.AddICECandidate(candidate)
}

func (s *session) addEarly(target livekit.SignalTarget) {
	for _, candidate := range s.early[target] {
		_ = s.connection(target).AddICECandidate(candidate)
	}
	delete(s.early, target)
}

// Marks implements sfu.Session.
func (s *session) Marks() sfu.Marks {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.marks
}

func (s *session) stop() { s.once.Do(func() { close(s.done) }) }

// Close implements sfu.Session.
func (s *session) Close() {
	s.stop()
	leave := &livekit.LeaveRequest{Reason: livekit.DisconnectReason_CLIENT_INITIATED}
	_ = s.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Leave{Leave: leave}})
	_ = s.socket.Close()
	for _, connection := range []*webrtc.PeerConnection{s.pub, s.sub} {
		if connection != nil {
			_ = connection.Close()
		}
	}
}
