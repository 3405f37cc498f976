package stream

import (
	"math/rand/v2"
	"time"

	"github.com/pion/rtp"
)

// frames creates the packets of a VP8 track: valid descriptors and frame headers, and no image.
type frames struct {
	count     int
	sinceKey  int
	lastKey   time.Time
	rtpSeq    uint16
	timestamp uint32
	pictureID uint16
}

func newFrames() *frames {
	return &frames{sinceKey: keyInterval, rtpSeq: uint16(rand.Uint32()), timestamp: rand.Uint32(), pictureID: uint16(rand.Uint32()) & 0x7fff}
}

// keyIsDue is true at the interval of key frames, and if one is wanted and the last one is not recent.
func (f *frames) keyIsDue(now time.Time, wanted bool) bool {
	return f.sinceKey >= keyInterval || (wanted && now.Sub(f.lastKey) >= minKeyInterval)
}

func (f *frames) next(now time.Time, key bool) []*rtp.Packet {
	size := deltaBytes
	f.count++
	if key {
		size, f.lastKey, f.sinceKey = keyBytes, now, 0
		if f.count == 1 { // spreads the key frames of the sources
			f.sinceKey = rand.N(keyInterval)
		}
	}
	f.sinceKey++
	f.timestamp += 90000 / framerate
	f.pictureID = (f.pictureID + 1) & 0x7fff
	var packets []*rtp.Packet
	for first := true; size > 0; first = false {
		length := min(size, maxPayload)
		size -= length
		f.rtpSeq++
		packets = append(packets, &rtp.Packet{
			Header:  rtp.Header{Version: 2, SequenceNumber: f.rtpSeq, Timestamp: f.timestamp, Marker: size == 0},
			Payload: f.payload(max(length, minVideoPayload), first, key),
		})
	}
	return packets
}

func (f *frames) payload(length int, first, key bool) []byte {
	payload := make([]byte, 4+length)
	// RFC 7741: X, then I, then a picture id of 15 bits.
	payload[0], payload[1], payload[2], payload[3] = 0x80, 0x80, 0x80|byte(f.pictureID>>8), byte(f.pictureID)
	if first {
		payload[0] |= 0x10
		if key {
			// Frame tag, start code, 1280x720.
			copy(payload[4:], []byte{0x10, 0x02, 0x00, 0x9d, 0x01, 0x2a, 0x00, 0x05, 0xd0, 0x02})
		} else {
			copy(payload[4:], []byte{0x11, 0x02, 0x00})
		}
	}
	return payload
}
