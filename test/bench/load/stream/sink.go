package stream

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"
)

// Sink counts the packets of one received track.
type Sink struct {
	Kind webrtc.RTPCodecType
	// First is closed when the first packet has arrived, at FirstAt.
	First   chan struct{}
	FirstAt time.Time

	mu    sync.Mutex
	count Count
	// Sequence numbers below MaxSeq that have not arrived: at most the packets of one run.
	missing map[uint64]struct{}
	sinks   *Sinks
}

// Count is the state of one track. Received packets are counted once, however often they are sent again.
type Count struct {
	Received, Reordered, Duplicate, Padding uint64
	// MaxSeq is the highest sequence number of the source that has arrived.
	MaxSeq uint64
}

// Sinks are received tracks whose counts and delays are added up.
type Sinks struct {
	Delay Histogram

	mu  sync.Mutex
	all []*Sink
}

// Add counts the packets of a track until it ends.
func (s *Sinks) Add(track *webrtc.TrackRemote) *Sink {
	sink := &Sink{Kind: track.Kind(), First: make(chan struct{}), missing: map[uint64]struct{}{}, sinks: s}
	s.mu.Lock()
	s.all = append(s.all, sink)
	s.mu.Unlock()
	go sink.run(track)
	return sink
}

func (s *Sink) run(track *webrtc.TrackRemote) {
	buffer := make([]byte, 2048)
	for {
		length, _, err := track.Read(buffer)
		if err != nil {
			return
		}
		s.take(buffer[:length], time.Since(epoch))
	}
}

func (s *Sink) take(packet []byte, now time.Duration) {
	end := len(packet)
	if end > 12 && packet[0]&0x20 != 0 {
		end -= int(packet[end-1])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if end < 12+trailerLength || binary.BigEndian.Uint32(packet[end-trailerLength:]) != magic {
		s.count.Padding++
		return
	}
	trailer := packet[end-trailerLength : end]
	if !s.isNew(uint64(binary.BigEndian.Uint32(trailer[8:]))) {
		return
	}
	s.sinks.Delay.Add(now - time.Duration(binary.BigEndian.Uint64(trailer[12:])))
	if s.count.Received++; s.count.Received == 1 {
		s.FirstAt = time.Now()
		close(s.First)
	}
}

// isNew updates the counts of order; false if the packet has arrived before.
func (s *Sink) isNew(seq uint64) bool {
	_, isMissing := s.missing[seq]
	switch {
	case seq > s.count.MaxSeq:
		for skipped := s.count.MaxSeq + 1; s.count.Received > 0 && skipped < seq; skipped++ {
			s.missing[skipped] = struct{}{}
		}
		s.count.MaxSeq = seq
	case isMissing:
		delete(s.missing, seq)
		s.count.Reordered++
	default:
		s.count.Duplicate++
		return false
	}
	return true
}

// Live returns the number of tracks of which a packet has arrived.
func (s *Sinks) Live() (live int) {
	for _, count := range s.Counts() {
		if count.Received > 0 {
			live++
		}
	}
	return live
}

// Counts returns the state of each track, in the order in which they were added.
func (s *Sinks) Counts() []Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make([]Count, len(s.all))
	for index, sink := range s.all {
		sink.mu.Lock()
		counts[index] = sink.count
		sink.mu.Unlock()
	}
	return counts
}

// Flow is what was expected and what arrived between two moments.
type Flow struct{ Expected, Received, Reordered, Duplicate, Padding, Lost uint64 }

// Flow adds up the packets between two counts. Lost are those of that time which have not arrived yet, so it is called when packets that
// are sent again have had time to arrive.
func (s *Sinks) Flow(earlier, later []Count) (flow Flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for index, before := range earlier {
		after, sink := later[index], s.all[index]
		flow.Expected += after.MaxSeq - before.MaxSeq
		flow.Received += after.Received - before.Received
		flow.Reordered += after.Reordered - before.Reordered
		flow.Duplicate += after.Duplicate - before.Duplicate
		flow.Padding += after.Padding - before.Padding
		sink.mu.Lock()
		for seq := range sink.missing {
			if seq > before.MaxSeq && seq <= after.MaxSeq {
				flow.Lost++
			}
		}
		sink.mu.Unlock()
	}
	return flow
}
