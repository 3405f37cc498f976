// Load generator of `npm run bench livekit` and `npm run bench whep`: loads a media server on loopback and prints one JSON object with what it cost.
//
//	load media -publishers 1 -receivers 50        one to many
//	load media -rooms 4 -publishers 4 -mesh       rooms in which each participant receives the others
//	load capacity -step 10                        more receivers until packets are lost
//	load join -count 30                           time of joins
//	load rooms -count 2000 -clients 32            creation of rooms over HTTP
//
// CPU time and memory are those of the process -pid and its descendants.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"github.com/pion/webrtc/v4"
	"mediarooms/bench-load/livekit"
	"mediarooms/bench-load/mediarooms"
	"mediarooms/bench-load/proc"
	"mediarooms/bench-load/sfu"
	"mediarooms/bench-load/stream"
)

const (
	readyTimeout = 60 * time.Second
	// A server that has just started still compiles code and collects garbage.
	settleTime = 2500 * time.Millisecond
)

type options struct {
	kind, address      string
	whep               bool
	pid                int
	rooms, publishers  int
	receivers          int
	mesh               bool
	microphones        bool
	lossyEvery         int
	loss               float64
	step, maxReceivers int
	warmUp, duration   time.Duration
	count, clients     int
}

type result = map[string]any

var commands = map[string]func(*run) (result, error){"media": media, "capacity": capacity, "join": join, "rooms": rooms}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		log.Fatal("usage: load media|capacity|join|rooms [flags]")
	}
	var o options
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	flags.StringVar(&o.kind, "server", "mediarooms", "mediarooms (BENCH_TOKEN is its API token) or livekit (BENCH_KEY and BENCH_SECRET)")
	flags.StringVar(&o.address, "address", "", "host:port of HTTP")
	flags.BoolVar(&o.whep, "whep", false, "receivers of mediarooms are players of WHEP")
	flags.IntVar(&o.pid, "pid", 0, "process id of the server")
	flags.IntVar(&o.rooms, "rooms", 1, "rooms")
	flags.IntVar(&o.publishers, "publishers", 1, "publishers in each room")
	flags.IntVar(&o.receivers, "receivers", 0, "participants in each room that only receive; capacity: the number to start with")
	flags.BoolVar(&o.mesh, "mesh", false, "publishers receive each other")
	flags.BoolVar(&o.microphones, "microphones", false, "publishers have no cameras")
	flags.IntVar(&o.lossyEvery, "lossy-every", 0, "every such receiver loses packets; 0: none")
	flags.Float64Var(&o.loss, "loss", 0.02, "share of the packets that lossy receivers lose")
	flags.IntVar(&o.step, "step", 10, "capacity: receivers added at once")
	flags.IntVar(&o.maxReceivers, "max-receivers", 490, "capacity: receivers at most")
	flags.DurationVar(&o.warmUp, "warm-up", 10*time.Second, "time before the measurement")
	flags.DurationVar(&o.duration, "duration", 20*time.Second, "time of the measurement; capacity: of each step")
	flags.IntVar(&o.count, "count", 30, "joins or rooms")
	flags.IntVar(&o.clients, "clients", 1, "concurrent clients")
	_ = flags.Parse(os.Args[2:])
	measured, err := start(o, commands[os.Args[1]])
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(measured)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

// run is one measurement of a server that is ready.
type run struct {
	options
	server sfu.Server
	sent   stream.Sent
}

func start(o options, command func(*run) (result, error)) (result, error) {
	r := &run{options: o}
	switch o.kind {
	case "livekit":
		r.server = &livekit.Server{Address: o.address, Key: os.Getenv("BENCH_KEY"), Secret: os.Getenv("BENCH_SECRET")}
	case "mediarooms":
		node := &mediarooms.Server{Address: o.address, Token: os.Getenv("BENCH_TOKEN")}
		r.server = node
		if o.whep {
			r.server = &mediarooms.Players{Server: node}
		}
	default:
		return nil, fmt.Errorf("no server is called %q", o.kind)
	}
	if _, err := proc.CPU(o.pid); err != nil {
		return nil, fmt.Errorf("-pid: %w", err)
	}
	if err := sfu.WaitUntilReady(r.server, readyTimeout); err != nil {
		return nil, err
	}
	time.Sleep(settleTime)
	idle := proc.Resident(o.pid)
	measured, err := command(r)
	if err == nil {
		measured["idle_mib"] = float64(idle) / 1024
	}
	return measured, err
}

// newSource joins a room as a publisher and starts to send.
func (r *run) newSource(name string, into sfu.Participant, join func(sfu.Participant) error) (*stream.Source, error) {
	source, err := stream.NewSource(name, !r.microphones, &r.sent)
	if err != nil {
		return nil, err
	}
	into.Publish, into.OnSender = source.Tracks(), source.OnSender
	if err := join(into); err != nil {
		return nil, fmt.Errorf("publisher: %w", err)
	}
	source.Start()
	return source, nil
}

// quantile sorts the values.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	return values[min(len(values)-1, int(share*float64(len(values))))]
}

func kindName(kind webrtc.RTPCodecType) string {
	if kind == webrtc.RTPCodecTypeVideo {
		return "video"
	}
	return "audio"
}
