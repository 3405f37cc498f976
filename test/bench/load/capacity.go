package main

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"
	"mediarooms/bench-load/proc"
	"mediarooms/bench-load/sfu"
)

const (
	maxLoss         = 0.001
	stepJoinTimeout = 20 * time.Second
	stepSettleTime  = time.Second
	// Above this the generator itself may lose packets, and the result is not that of the server.
	maxGeneratorCPU = 0.9
)

// crowd are receivers that count packets at their sockets and request no retransmissions: the first transmission counts.
type crowd struct {
	mu       sync.Mutex
	counters []*sfu.Counter
	networks []*sfu.Network
	sessions []sfu.Session
}

func (c *crowd) close() {
	for _, session := range c.sessions {
		session.Close()
	}
	for _, network := range c.networks {
		network.Close()
	}
}

func (c *crowd) join(ctx context.Context, r *run) error {
	network, err := sfu.NewNetwork(0)
	if err != nil {
		return err
	}
	c.networks = append(c.networks, network)
	api, err := sfu.NewAPI(network)
	if err != nil {
		return err
	}
	session, err := r.server.Join(ctx, api, sfu.Participant{Room: "capacity", Identity: fmt.Sprintf("receiver-%d", len(c.sessions)),
		Subscribe: true, OnTrack: func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
			counter := network.Count(track, receiver)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.counters = append(c.counters, counter)
		}})
	if err == nil {
		c.sessions = append(c.sessions, session)
	}
	return err
}

// read returns the packets that arrived at all receivers, those that were expected, and the number of tracks with packets.
func (c *crowd) read() (received, expected int64, live int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, counter := range c.counters {
		one, all := counter.Read()
		received, expected = received+one, expected+all
		if one > 0 {
			live++
		}
	}
	return received, expected, live
}

// stage is a window of measurement with a fixed number of receivers.
type stage struct {
	receivers int
	pps, loss float64
	use       proc.Use
}

func (c *crowd) measure(r *run) stage {
	before, began := proc.Read(r.pid), time.Now()
	received0, expected0, _ := c.read()
	time.Sleep(r.duration)
	seconds := time.Since(began).Seconds()
	received, expected, _ := c.read()
	return stage{
		receivers: len(c.sessions), use: proc.Read(r.pid).Since(before, seconds),
		pps: float64(received-received0) / seconds, loss: 1 - float64(received-received0)/float64(max(1, expected-expected0)),
	}
}

// grow joins receivers until there are so many, and waits until each receives both tracks.
func (c *crowd) grow(r *run, receivers int) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepJoinTimeout)
	defer cancel()
	for len(c.sessions) < receivers {
		if err := c.join(ctx, r); err != nil {
			return err
		}
	}
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		_, _, live := c.read()
		if live >= tracksEach*receivers {
			return nil
		}
		if time.Since(start) > stepJoinTimeout {
			return fmt.Errorf("%d of %d tracks have packets", live, tracksEach*receivers)
		}
	}
}

// capacity adds receivers until more than maxLoss of the packets are lost in two windows, because one can be an accident.
func capacity(r *run) (result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), joinTimeout)
	defer cancel()
	api, err := sfu.NewAPI(nil)
	if err != nil {
		return nil, err
	}
	var c crowd
	defer c.close()
	source, err := r.newSource("publisher", sfu.Participant{Room: "capacity", Identity: "publisher"}, func(p sfu.Participant) error {
		session, err := r.server.Join(ctx, api, p)
		if err == nil {
			c.sessions = append(c.sessions, session)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	defer source.Close()
	publisher := c.sessions[0]
	defer publisher.Close()
	c.sessions = nil
	best, limit := c.search(r)
	if best.receivers == 0 {
		return nil, fmt.Errorf("no number of receivers was without loss: %s", limit)
	}
	measured := result{"receivers": best.receivers, "out_pps": best.pps, "loss": best.loss, "limit": limit}
	best.use.Report(measured)
	return measured, nil
}

// search returns the last stage without loss, and what ended the search: loss, joins, generator or receivers (no more are allowed).
func (c *crowd) search(r *run) (best stage, limit string) {
	for receivers := max(1, r.receivers); receivers <= r.maxReceivers; receivers += r.step {
		if err := c.grow(r, receivers); err != nil {
			log.Printf("%d receivers: %v", receivers, err)
			return best, "joins"
		}
		time.Sleep(stepSettleTime)
		measured := c.measure(r)
		if measured.loss > maxLoss {
			measured = c.measure(r)
		}
		log.Printf("%d receivers: %.0f packets/s, loss %.3f %%, server %.2f, generator %.2f cores",
			receivers, measured.pps, measured.loss*100, measured.use.Server, measured.use.Generator)
		switch {
		case measured.use.Generator > maxGeneratorCPU:
			return best, "generator"
		case measured.loss > maxLoss:
			return best, "loss"
		}
		best = measured
	}
	return best, "receivers"
}
