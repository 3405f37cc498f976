package main

import (
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"mediarooms/bench-load/proc"
)

const warmUpRooms = 50

// rooms measures the creation of rooms by a number of concurrent clients.
func rooms(r *run) (result, error) {
	create, err := r.server.RoomCreator(r.clients)
	if err != nil {
		return nil, err
	}
	for index := range warmUpRooms {
		if err := create(fmt.Sprintf("warm-%d", index)); err != nil {
			return nil, err
		}
	}
	memory := proc.Resident(r.pid)
	before, began := proc.Read(r.pid), time.Now()
	var next, failed atomic.Int64
	var group sync.WaitGroup
	times := make([]float64, r.count)
	for range r.clients {
		group.Go(func() {
			for index := int(next.Add(1)) - 1; index < r.count; index = int(next.Add(1)) - 1 {
				start := time.Now()
				if err := create(fmt.Sprintf("room-%d", index)); err != nil && failed.Add(1) == 1 {
					log.Print(err)
				}
				times[index] = time.Since(start).Seconds() * 1e3
			}
		})
	}
	group.Wait()
	seconds := time.Since(began).Seconds()
	measured := result{
		"failed": failed.Load(), "per_second": float64(r.count) / seconds, "p50_ms": quantile(times, 0.5), "p99_ms": quantile(times, 0.99),
		"room_kib": float64(proc.Resident(r.pid)-memory) / float64(r.count),
	}
	proc.Read(r.pid).Since(before, seconds).Report(measured)
	return measured, nil
}
