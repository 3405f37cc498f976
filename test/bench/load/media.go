package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pion/webrtc/v4"
	"mediarooms/bench-load/proc"
	"mediarooms/bench-load/sfu"
	"mediarooms/bench-load/stream"
)

const (
	joinTimeout = 120 * time.Second
	liveTimeout = 30 * time.Second
	// A camera and a microphone.
	tracksEach = 2
	// A packet that is lost is requested several times within a second.
	repairTime = time.Second
)

// audience is everything that a measurement of media has joined. Receivers that lose packets have separate sinks.
type audience struct {
	sinks, lossySinks stream.Sinks
	network           *sfu.Network
	sessions          []sfu.Session
	sources           []*stream.Source
	expected          int
	// joining is the time in which the receivers joined one after another.
	joining time.Duration
}

func (a *audience) close() {
	for _, source := range a.sources {
		source.Close()
	}
	for _, session := range a.sessions {
		session.Close()
	}
}

func (a *audience) live() int { return a.sinks.Live() + a.lossySinks.Live() }

// media measures what the server costs while it forwards to a fixed number of receivers.
func media(r *run) (result, error) {
	a, err := r.joinAll()
	if err != nil {
		return nil, err
	}
	defer a.close()
	for start := time.Now(); a.live() < a.expected; time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > liveTimeout {
			return nil, fmt.Errorf("%d of %d received tracks have packets", a.live(), a.expected)
		}
	}
	time.Sleep(r.warmUp)
	before, began := proc.Read(r.pid), time.Now()
	counts, lossyCounts := a.sinks.Counts(), a.lossySinks.Counts()
	delays, lossyDelays := a.sinks.Delay.Snapshot(), a.lossySinks.Delay.Snapshot()
	sent, dropped := r.sent.Packets.Load(), a.network.Lost.Load()
	time.Sleep(r.duration)
	seconds := time.Since(began).Seconds()
	use := proc.Read(r.pid).Since(before, seconds)
	later, lossyLater := a.sinks.Delay.Snapshot(), a.lossySinks.Delay.Snapshot()
	laterCounts, lossyLaterCounts, laterSent := a.sinks.Counts(), a.lossySinks.Counts(), r.sent.Packets.Load()
	loaded, laterDropped := proc.Resident(r.pid), a.network.Lost.Load()
	time.Sleep(repairTime)
	flow, lossyFlow := a.sinks.Flow(counts, laterCounts), a.lossySinks.Flow(lossyCounts, lossyLaterCounts)
	out := float64(flow.Received+lossyFlow.Received) / seconds
	measured := result{
		"in_pps": float64(laterSent-sent) / seconds, "out_pps": out, "expected": flow.Expected + lossyFlow.Expected,
		"lost": flow.Lost, "reordered": flow.Reordered, "padding": flow.Padding + lossyFlow.Padding,
		"server_us_per_packet": use.Server / out * 1e6, "generator_us_per_packet": use.Generator / out * 1e6,
		"delay_p50_ms": later.Quantile(delays, 0.5), "delay_p99_ms": later.Quantile(delays, 0.99),
		"loaded_mib": float64(loaded) / 1024, "write_errors": r.sent.Errors.Load(),
		"joins_per_second": float64(r.rooms*r.receivers) / a.joining.Seconds(), "silent": silent(counts, laterCounts),
	}
	if r.lossyEvery > 0 {
		measured["network_lost"], measured["lossy_lost"] = laterDropped-dropped, lossyFlow.Lost
		measured["lossy_expected"], measured["lossy_duplicate"] = lossyFlow.Expected, lossyFlow.Duplicate
		measured["lossy_delay_p99_ms"] = lossyLater.Quantile(lossyDelays, 0.99)
	}
	use.Report(measured)
	return measured, nil
}

// silent returns the number of tracks of which nothing arrived between two counts.
func silent(earlier, later []stream.Count) (tracks int) {
	for index, before := range earlier {
		if later[index].Received == before.Received {
			tracks++
		}
	}
	return tracks
}

func (r *run) joinAll() (*audience, error) {
	a := &audience{}
	plain, err := sfu.NewAPI(nil)
	if err != nil {
		return nil, err
	}
	if a.network, err = sfu.NewNetwork(r.loss); err != nil {
		return nil, err
	}
	lossy, err := sfu.NewAPI(a.network)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinTimeout)
	defer cancel()
	joinWith := func(api *webrtc.API) func(sfu.Participant) error {
		return func(participant sfu.Participant) error {
			session, err := r.server.Join(ctx, api, participant)
			if err == nil {
				a.sessions = append(a.sessions, session)
			}
			return err
		}
	}
	count := func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { a.sinks.Add(track) }
	countLossy := func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { a.lossySinks.Add(track) }
	for room := range r.rooms {
		name := fmt.Sprintf("bench-%d", room)
		for each := range r.publishers {
			participant := sfu.Participant{Room: name, Identity: fmt.Sprintf("publisher-%d", each), Subscribe: r.mesh, OnTrack: count}
			source, err := r.newSource(participant.Identity, participant, joinWith(plain))
			if err != nil {
				return nil, err
			}
			a.sources = append(a.sources, source)
		}
		began := time.Now()
		for each := range r.receivers {
			participant := sfu.Participant{Room: name, Identity: fmt.Sprintf("receiver-%d", each), Subscribe: true, OnTrack: count}
			api := plain
			if r.lossyEvery > 0 && each%r.lossyEvery == 0 {
				participant.OnTrack, api = countLossy, lossy
			}
			if err := joinWith(api)(participant); err != nil {
				return nil, fmt.Errorf("receiver: %w", err)
			}
		}
		a.joining += time.Since(began)
	}
	for _, source := range a.sources {
		receivers := r.receivers
		if r.mesh {
			receivers += r.publishers - 1
		}
		a.expected += receivers * len(source.Tracks())
	}
	return a, nil
}
