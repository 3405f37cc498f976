package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pion/webrtc/v4"
	"mediarooms/bench-load/proc"
	"mediarooms/bench-load/sfu"
	"mediarooms/bench-load/stream"
)

const mediaTimeout = 15 * time.Second

// join measures one join after the other into a room with one publisher, in milliseconds since the websocket is opened.
func join(r *run) (result, error) {
	api, err := sfu.NewAPI(nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.count)*mediaTimeout)
	defer cancel()
	var publisher sfu.Session
	source, err := r.newSource("publisher", sfu.Participant{Room: "join", Identity: "publisher"}, func(p sfu.Participant) (err error) {
		publisher, err = r.server.Join(ctx, api, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer publisher.Close()
	defer source.Close()
	time.Sleep(3 * time.Second)
	before, began := proc.Read(r.pid), time.Now()
	times := map[string][]float64{}
	for index := range r.count {
		if err := r.joinOnce(ctx, api, index, times); err != nil {
			return nil, fmt.Errorf("join %d: %w", index, err)
		}
		// Independent of the phase of the publisher's key frames, and of the rate at which servers request them.
		time.Sleep(time.Second + rand.N(time.Second))
	}
	measured := result{"joins": r.count, "key_requests": r.sent.KeyRequests.Load()}
	for name, values := range times {
		measured[name+"_p50_ms"], measured[name+"_p95_ms"] = quantile(values, 0.5), quantile(values, 0.95)
	}
	proc.Read(r.pid).Since(before, time.Since(began).Seconds()).Report(measured)
	return measured, nil
}

func (r *run) joinOnce(ctx context.Context, api *webrtc.API, index int, times map[string][]float64) error {
	var sinks stream.Sinks
	arrived := make(chan *stream.Sink, tracksEach)
	session, err := r.server.Join(ctx, api, sfu.Participant{Room: "join", Identity: fmt.Sprintf("receiver-%d", index), Subscribe: true,
		OnTrack: func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
			sink := sinks.Add(track)
			go func() {
				select {
				case <-sink.First:
					arrived <- sink
				case <-ctx.Done():
				}
			}()
		}})
	if err != nil {
		return err
	}
	defer session.Close()
	start := session.Marks().Start
	add := func(name string, at time.Time) { times[name] = append(times[name], at.Sub(start).Seconds()*1e3) }
	timeout := time.NewTimer(mediaTimeout)
	defer timeout.Stop()
	for count := range tracksEach {
		select {
		case sink := <-arrived:
			if count == 0 {
				add("first_rtp", sink.FirstAt)
			}
			add("first_"+kindName(sink.Kind), sink.FirstAt)
		case <-timeout.C:
			return fmt.Errorf("%d of %d tracks have packets", count, tracksEach)
		}
	}
	marks := session.Marks()
	add("joined", marks.Joined)
	add("connected", marks.Connected)
	times["setup"] = append(times["setup"], marks.Setup.Seconds()*1e3)
	return nil
}
