// Package sfu is what differs between media servers: how a participant sends and receives tracks, and how a room is created. Sources, sinks,
// counters and CPU times are shared.
package sfu

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/pion/webrtc/v4"
)

// Participant is what a participant of a room sends and receives.
type Participant struct {
	Room, Identity string
	// Publish are the tracks to send.
	Publish []webrtc.TrackLocal
	// Subscribe requests every other track of the room.
	Subscribe bool
	OnTrack   func(*webrtc.TrackRemote, *webrtc.RTPReceiver)
	// OnSender is called for each published track after the negotiation.
	OnSender func(webrtc.TrackLocal, *webrtc.RTPSender)
}

// Marks are moments of a join. Setup is what a backend does for a participant before Start.
type Marks struct {
	Start, Joined, Connected time.Time
	Setup                    time.Duration
}

// Session is one participant in a room.
type Session interface {
	Marks() Marks
	Close()
}

// Server is one kind of media server.
type Server interface {
	// ReadyURL responds with 200 when the server accepts participants.
	ReadyURL() string
	// Join returns when the server has accepted the participant and its tracks.
	Join(ctx context.Context, api *webrtc.API, participant Participant) (Session, error)
	// RoomCreator returns a function that creates one room and checks the response; so many run at once.
	RoomCreator(clients int) (func(name string) error, error)
}

// HTTPClient keeps so many connections open.
func HTTPClient(connections int) *http.Client {
	return &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections},
	}
}

// WaitUntilReady polls the server until it is ready.
func WaitUntilReady(server Server, timeout time.Duration) error {
	client := &http.Client{Timeout: time.Second}
	var last error
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		response, err := client.Get(server.ReadyURL())
		if last = err; err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		last = fmt.Errorf("%s: %s", server.ReadyURL(), response.Status)
	}
	return fmt.Errorf("the server is not ready after %v: %w", timeout, last)
}
