package mediarooms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/pion/webrtc/v4"
	"mediarooms/bench-load/sfu"
)

// Interval of the client library.
const pingInterval = 5 * time.Second

type object = map[string]any

type subscribedTrack struct {
	TrackID       string        `json:"trackId"`
	PeerID        string        `json:"peerId"`
	Kind          string        `json:"kind"`
	RTPParameters rtpParameters `json:"rtpParameters"`
}

type frame struct {
	ID    *int            `json:"id"`
	OK    bool            `json:"ok"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
	Error struct{ Code, Message string }
}

type response struct {
	data json.RawMessage
	err  error
}

// session is one peer: a transport to send, one to receive, and the websocket.
type session struct {
	participant sfu.Participant
	api         *webrtc.API
	socket      *websocket.Conn
	router      capabilities
	receivable  capabilities
	pub, sub    *webrtc.PeerConnection
	recv        transportOptions
	tracks      chan []subscribedTrack
	done        chan struct{}
	once        sync.Once

	writing sync.Mutex // guards lastID
	lastID  int

	mu       sync.Mutex // guards what follows
	marks    sfu.Marks
	waiting  map[int]chan response
	received int
}

// Join implements sfu.Server.
func (s *Server) Join(ctx context.Context, api *webrtc.API, participant sfu.Participant) (sfu.Session, error) {
	began := time.Now()
	peer, err := s.createPeer(ctx, participant.Room, participant.Identity)
	if err != nil {
		return nil, err
	}
	joined := &session{participant: participant, api: api, waiting: map[int]chan response{},
		tracks: make(chan []subscribedTrack, 1024), done: make(chan struct{})}
	joined.marks.Start = time.Now()
	joined.marks.Setup = joined.marks.Start.Sub(began)
	if joined.socket, _, err = websocket.DefaultDialer.DialContext(ctx, "ws://"+peer.Data.URL, nil); err != nil {
		return nil, err
	}
	go joined.run()
	go joined.ping()
	if err := joined.enter(ctx, peer.Data.Token); err != nil {
		joined.Close()
		return nil, err
	}
	return joined, nil
}

func (s *session) enter(ctx context.Context, token string) error {
	welcome := s.request("authenticate", object{"token": token})
	recv := s.request("createTransport", object{"direction": "recv"})
	var send <-chan response
	if len(s.participant.Publish) > 0 {
		send = s.request("createTransport", object{"direction": "send"})
	}
	var room struct {
		RTPCapabilities capabilities `json:"rtpCapabilities"`
	}
	if err := s.wait(ctx, welcome, &room); err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	s.mark(func(marks *sfu.Marks) { marks.Joined = time.Now() })
	s.router, s.receivable = room.RTPCapabilities, receivable(room.RTPCapabilities)
	if s.participant.Subscribe {
		s.notify("setFeatures", object{"features": []string{"tracksSubscribed"}})
		s.notify("join", object{"rtpCapabilities": s.receivable})
	}
	if err := s.wait(ctx, recv, &s.recv); err != nil {
		return fmt.Errorf("createTransport recv: %w", err)
	}
	if s.participant.Subscribe {
		if err := s.openReceiver(); err != nil {
			return err
		}
	}
	if send == nil {
		return nil
	}
	var options transportOptions
	if err := s.wait(ctx, send, &options); err != nil {
		return fmt.Errorf("createTransport send: %w", err)
	}
	return s.publish(ctx, &options)
}

// newConnection creates the peer connection of a transport and sends its fingerprint, which the server has before the ClientHello.
func (s *session) newConnection(transport *transportOptions) (*webrtc.PeerConnection, error) {
	connection, err := s.api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, err
	}
	prints, err := connection.GetConfiguration().Certificates[0].GetFingerprints()
	if err != nil {
		return nil, err
	}
	var fingerprints []object
	for _, print := range prints {
		fingerprints = append(fingerprints, object{"algorithm": print.Algorithm, "value": strings.ToUpper(print.Value)})
	}
	s.notify("connectTransport", object{"transportId": transport.ID,
		"dtlsParameters": object{"role": "client", "fingerprints": fingerprints}})
	return connection, nil
}

// nominate makes pion nominate as soon as its check has succeeded. The server is ICE lite, so pion is the controlling agent, and it looks at
// its checks every 200 ms only. A full ICE server triggers that with its own checks, and browsers nominate with the first check. Remote TCP
// candidates, which pion does not use here, trigger it too.
func nominate(connection *webrtc.PeerConnection) {
	go func() {
		for count, pause := 0, time.Millisecond; count < 6; count, pause = count+1, pause*2 {
			time.Sleep(pause)
			state := connection.ICEConnectionState()
			if state != webrtc.ICEConnectionStateNew && state != webrtc.ICEConnectionStateChecking {
				return
			}
			candidate := fmt.Sprintf("candidate:check%d 1 tcp 1 127.0.0.1 %d typ host tcptype passive", count, 9+count)
			_ = connection.AddICECandidate(webrtc.ICECandidateInit{Candidate: candidate})
		}
	}()
}

// request sends a request; the response arrives on the channel.
func (s *session) request(method string, data any) <-chan response {
	arrived := make(chan response, 1)
	s.writing.Lock()
	defer s.writing.Unlock()
	s.lastID++
	id := s.lastID
	s.mu.Lock()
	s.waiting[id] = arrived
	s.mu.Unlock()
	if err := s.socket.WriteJSON(object{"id": id, "method": method, "data": data}); err != nil {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
		arrived <- response{err: err}
	}
	return arrived
}

// notify sends a request of which only a failure matters.
func (s *session) notify(method string, data any) {
	arrived := s.request(method, data)
	go func() {
		select {
		case <-s.done:
		case answer := <-arrived:
			if answer.err != nil {
				log.Printf("%s: %s: %v", s.participant.Identity, method, answer.err)
			}
		}
	}()
}

func (s *session) wait(ctx context.Context, arrived <-chan response, into any) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return errors.New("the server closed the socket")
	case answer := <-arrived:
		if answer.err != nil || into == nil {
			return answer.err
		}
		return json.Unmarshal(answer.data, into)
	}
}

func (s *session) run() {
	defer s.stop()
	for {
		var next frame
		if err := s.socket.ReadJSON(&next); err != nil {
			select {
			case <-s.done:
			default:
				log.Printf("%s: socket: %v", s.participant.Identity, err)
			}
			return
		}
		if err := s.take(&next); err != nil {
			log.Printf("%s: %v", s.participant.Identity, err)
		}
	}
}

func (s *session) take(next *frame) error {
	s.mu.Lock()
	var arrived chan response
	if next.ID != nil {
		arrived = s.waiting[*next.ID]
		delete(s.waiting, *next.ID)
	}
	// The response to authenticate, which is the first request, does not count.
	if next.ID == nil || *next.ID != 1 {
		s.received++
	}
	s.mu.Unlock()
	switch {
	case arrived != nil && next.OK:
		arrived <- response{data: next.Data}
	case arrived != nil:
		arrived <- response{err: fmt.Errorf("%s: %s", next.Error.Code, next.Error.Message)}
	case next.Event == "tracksSubscribed":
		var data struct {
			Tracks []subscribedTrack `json:"tracks"`
		}
		if err := json.Unmarshal(next.Data, &data); err != nil {
			return err
		}
		s.tracks <- data.Tracks
	}
	return nil
}

func (s *session) ping() {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
			s.mu.Lock()
			received := s.received
			s.mu.Unlock()
			s.notify("ping", object{"received": received})
		}
	}
}

func (s *session) mark(change func(*sfu.Marks)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.marks)
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
	s.request("leave", object{})
	s.stop()
	_ = s.socket.Close()
	for _, connection := range []*webrtc.PeerConnection{s.pub, s.sub} {
		if connection != nil {
			_ = connection.Close()
		}
	}
}
