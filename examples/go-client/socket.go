// WebSocket: requests and responses, events, and the frame count that resuming needs.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
)

type frame struct {
	ID    *int            `json:"id"` // of a response; an event has none
	OK    bool            `json:"ok"`
	Data  json.RawMessage `json:"data"`
	Event string          `json:"event"`
	Error struct{ Code, Message string }
}

type object = map[string]any

type socket struct {
	ctx    context.Context
	conn   *websocket.Conn
	events chan frame
	closed chan struct{}
	why    error // once closed

	mutex    sync.Mutex
	lastID   int
	waiting  map[int]chan frame
	received int
}

func openSocket(ctx context.Context, url string) (*socket, error) {
	conn, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	// In a room of many peers the response to authenticate exceeds the default limit of the library.
	conn.SetReadLimit(16 << 20)
	s := &socket{ctx: ctx, conn: conn, events: make(chan frame, 4096), closed: make(chan struct{}), waiting: map[int]chan frame{}}
	go s.read()
	go s.keepAlive()
	return s, nil
}

func (s *socket) read() {
	defer close(s.closed)
	for {
		_, text, err := s.conn.Read(s.ctx)
		var f frame
		if err == nil {
			err = json.Unmarshal(text, &f)
		}
		if err != nil {
			s.why = err
			return
		}
		s.mutex.Lock()
		// Every frame counts except the response to authenticate, the first request.
		if f.ID == nil || *f.ID != 1 {
			s.received++
		}
		if f.ID == nil {
			s.events <- f
		} else if answer := s.waiting[*f.ID]; answer != nil {
			delete(s.waiting, *f.ID)
			answer <- f
		}
		s.mutex.Unlock()
	}
}

// request sends a request and decodes the data of its response into answer, which may be nil.
func (s *socket) request(method string, data object, answer any) error {
	arrived := make(chan frame, 1)
	s.mutex.Lock()
	s.lastID++
	s.waiting[s.lastID] = arrived
	text, err := json.Marshal(object{"id": s.lastID, "method": method, "data": data})
	if err == nil {
		// Within the lock, so that frames are sent in the order of their ids.
		err = s.conn.Write(s.ctx, websocket.MessageText, text)
	}
	s.mutex.Unlock()
	if err != nil {
		return err
	}
	select {
	case f := <-arrived:
		if !f.OK {
			return fmt.Errorf("%s: %s: %s", method, f.Error.Code, f.Error.Message)
		}
		if answer == nil {
			return nil
		}
		return json.Unmarshal(f.Data, answer)
	case <-s.closed:
		return fmt.Errorf("%s: the socket closed: %w", method, s.why)
	}
}

// keepAlive reports the number of received frames every ten seconds, so that the server can drop them.
func (s *socket) keepAlive() {
	for range time.Tick(10 * time.Second) {
		s.mutex.Lock()
		received := s.received
		s.mutex.Unlock()
		if s.request("ping", object{"received": received}, nil) != nil {
			return
		}
	}
}
