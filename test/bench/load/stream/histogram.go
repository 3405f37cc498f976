package stream

import (
	"math"
	"sync/atomic"
	"time"
)

const buckets = 1024

var step = math.Log(1.02)

// Histogram counts delays in buckets that are 2 % wide, from one microsecond.
type Histogram struct{ counts [buckets]atomic.Uint64 }

// Snapshot is the content of a histogram at one moment.
type Snapshot [buckets]uint64

// Add counts one delay.
func (h *Histogram) Add(delay time.Duration) {
	bucket := 0
	if micros := float64(delay) / 1e3; micros > 1 {
		bucket = min(buckets-1, int(math.Log(micros)/step))
	}
	h.counts[bucket].Add(1)
}

// Snapshot copies the counts.
func (h *Histogram) Snapshot() (s Snapshot) {
	for index := range h.counts {
		s[index] = h.counts[index].Load()
	}
	return s
}

// Quantile returns a quantile, in milliseconds, of what was added after an earlier snapshot.
func (s Snapshot) Quantile(earlier Snapshot, share float64) float64 {
	var total, sum uint64
	for index := range s {
		total += s[index] - earlier[index]
	}
	for index := range s {
		sum += s[index] - earlier[index]
		if total > 0 && float64(sum) >= share*float64(total) {
			return math.Exp((float64(index)+0.5)*step) / 1e3
		}
	}
	return 0
}
