// Package mediarooms joins rooms of a node of Mediarooms, as its client library does (docs/reference/protocol.md).
package mediarooms

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"mediarooms/bench-load/sfu"
)

// Server is one node; Token is its API token.
type Server struct {
	Address, Token string

	once   sync.Once
	client *http.Client
	mu     sync.Mutex
	rooms  map[string]bool
}

// ReadyURL implements sfu.Server.
func (s *Server) ReadyURL() string { return "http://" + s.Address + "/readyz" }

// post sends a request that creates something.
func (s *Server) post(ctx context.Context, client *http.Client, path string, body, created any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Address+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.Token)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if content, err = io.ReadAll(response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("POST %s: %s: %s", path, response.Status, content)
	}
	return json.Unmarshal(content, created)
}

type createdRoom struct {
	Data struct {
		Room struct{ ID, Incarnation string }
	}
}

// RoomCreator implements sfu.Server.
func (s *Server) RoomCreator(clients int) (func(name string) error, error) {
	client := sfu.HTTPClient(clients)
	return func(name string) error {
		var created createdRoom
		if err := s.post(context.Background(), client, "/room", map[string]string{"roomId": name}, &created); err != nil {
			return err
		}
		if created.Data.Room.ID != name || created.Data.Room.Incarnation == "" {
			return fmt.Errorf("POST /room returned %+v", created)
		}
		return nil
	}, nil
}

type createdPeer struct {
	Data struct {
		Token string
		URL   string `json:"peer_websocket_url"`
	}
}

// createPeer creates a peer, and its room before the first one.
func (s *Server) createPeer(ctx context.Context, room, identity string) (peer createdPeer, err error) {
	s.once.Do(func() { s.client, s.rooms = sfu.HTTPClient(8), map[string]bool{} })
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.rooms[room] {
		if err := s.post(ctx, s.client, "/room", map[string]string{"roomId": room}, &createdRoom{}); err != nil {
			return peer, err
		}
		s.rooms[room] = true
	}
	err = s.post(ctx, s.client, "/room/"+room+"/peer", map[string]string{"type": "webrtc", "peerId": identity}, &peer)
	return peer, err
}
