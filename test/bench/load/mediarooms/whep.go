package mediarooms

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pion/webrtc/v4"
	"mediarooms/bench-load/sfu"
)

// Players is a node whose participants that only receive are players of WHEP.
type Players struct{ *Server }

// player is one session of WHEP.
type player struct {
	server     *Server
	connection *webrtc.PeerConnection
	location   string
	token      string
	marks      sfu.Marks
}

// Join implements sfu.Server.
func (p *Players) Join(ctx context.Context, api *webrtc.API, participant sfu.Participant) (sfu.Session, error) {
	if len(participant.Publish) > 0 {
		return p.Server.Join(ctx, api, participant)
	}
	peer, err := p.createPeer(ctx, participant.Room, participant.Identity)
	if err != nil {
		return nil, err
	}
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, err
	}
	joined := &player{server: p.Server, connection: connection, token: peer.Data.Token, marks: sfu.Marks{Start: time.Now()}}
	connection.OnTrack(participant.OnTrack)
	if err := joined.negotiate(ctx, participant.Room); err != nil {
		_ = connection.Close()
		return nil, err
	}
	return joined, nil
}

func (p *player) negotiate(ctx context.Context, room string) error {
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		init := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
		if _, err := p.connection.AddTransceiverFromKind(kind, init); err != nil {
			return err
		}
	}
	offer, err := p.connection.CreateOffer(nil)
	if err != nil {
		return err
	}
	if err := p.connection.SetLocalDescription(offer); err != nil {
		return err
	}
	response, answer, err := p.request(ctx, http.MethodPost, "/whep/"+room, offer.SDP)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("POST /whep/%s: %s: %s", room, response.Status, answer)
	}
	p.location, p.marks.Joined = response.Header.Get("Location"), time.Now()
	if err := p.connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}); err != nil {
		return err
	}
	nominate(p.connection)
	return nil
}

func (p *player) request(ctx context.Context, method, path, body string) (*http.Response, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+p.server.Address+path, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	if body != "" {
		request.Header.Set("Content-Type", "application/sdp")
	}
	response, err := p.server.client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response, string(content), err
}

// Marks implements sfu.Session.
func (p *player) Marks() sfu.Marks { return p.marks }

// Close implements sfu.Session.
func (p *player) Close() {
	_, _, _ = p.request(context.Background(), http.MethodDelete, p.location, "")
	_ = p.connection.Close()
}
