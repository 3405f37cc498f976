// Package livekit joins rooms of a LiveKit server.
package livekit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"google.golang.org/protobuf/proto"
	"mediarooms/bench-load/sfu"
)

// Server is one LiveKit server with a key that may do everything.
type Server struct{ Address, Key, Secret string }

// ReadyURL implements sfu.Server.
func (s *Server) ReadyURL() string { return "http://" + s.Address + "/" }

func (s *Server) token(identity string, grant *auth.VideoGrant) (string, error) {
	return auth.NewAccessToken(s.Key, s.Secret).SetVideoGrant(grant).SetIdentity(identity).SetValidFor(time.Hour).ToJWT()
}

func (s *Server) participantToken(participant sfu.Participant) (string, error) {
	publishes, yes, no := len(participant.Publish) > 0, true, false
	grant := &auth.VideoGrant{RoomJoin: true, Room: participant.Room, CanPublish: &publishes, CanSubscribe: &yes, CanPublishData: &no}
	return s.token(participant.Identity, grant)
}

// RoomCreator implements sfu.Server.
func (s *Server) RoomCreator(clients int) (func(name string) error, error) {
	token, err := s.token("", &auth.VideoGrant{RoomCreate: true})
	if err != nil {
		return nil, err
	}
	client := sfu.HTTPClient(clients)
	return func(name string) error {
		body, err := proto.Marshal(&livekit.CreateRoomRequest{Name: name})
		if err != nil {
			return err
		}
		url := "http://" + s.Address + "/twirp/livekit.RoomService/CreateRoom"
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/protobuf")
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		var room livekit.Room
		if response.StatusCode != http.StatusOK || proto.Unmarshal(content, &room) != nil || room.Name != name || room.Sid == "" {
			return fmt.Errorf("CreateRoom: %s: %q", response.Status, content)
		}
		return nil
	}, nil
}
