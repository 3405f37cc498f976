// Package stream sends and receives RTP whose loss and delay can be measured end to end.
package stream

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"
)

// Every packet ends with a trailer: a constant, the number of the source, a sequence number and the time of sending. A server may rewrite
// RTP headers and VP8 descriptors, but not the trailer.
const (
	magic         = 0x5fb0bea7
	trailerLength = 20
)

// A camera of 1.5 Mbit/s at 30 frames per second, and a microphone.
const (
	maxPayload      = 1100
	keyBytes        = 25_000
	bitrate         = 1_500_000
	framerate       = 30
	keyInterval     = 60
	deltaBytes      = (bitrate/8*keyInterval/framerate - keyBytes) / (keyInterval - 1)
	audioBytes      = 80
	audioInterval   = 20 * time.Millisecond
	paceInterval    = 5 * time.Millisecond
	paceBurst       = 2
	minKeyInterval  = 500 * time.Millisecond
	minVideoPayload = trailerLength + 16
)

var epoch = time.Now()

func writeTrailer(end []byte, source, seq uint32) {
	binary.BigEndian.PutUint32(end, magic)
	binary.BigEndian.PutUint32(end[4:], source)
	binary.BigEndian.PutUint32(end[8:], seq)
	binary.BigEndian.PutUint64(end[12:], uint64(time.Since(epoch)))
}

// Sent counts the packets of all sources, and the key frames that were requested.
type Sent struct{ Packets, KeyRequests, Errors atomic.Uint64 }

var sources atomic.Uint32

// Source is one microphone, with a camera unless Video is nil.
type Source struct {
	Video, Audio *webrtc.TrackLocalStaticRTP
	sent         *Sent
	levelID      atomic.Uint32
	keyWanted    atomic.Bool
	stop         chan struct{}
}

// NewSource creates the tracks of a source; stream is their id.
func NewSource(stream string, camera bool, sent *Sent) (*Source, error) {
	var video *webrtc.TrackLocalStaticRTP
	var err error
	if camera {
		video, err = webrtc.NewTrackLocalStaticRTP(
			webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000}, stream+"-video", stream)
		if err != nil {
			return nil, err
		}
	}
	audio, err := webrtc.NewTrackLocalStaticRTP(
		webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}, stream+"-audio", stream)
	if err != nil {
		return nil, err
	}
	return &Source{Video: video, Audio: audio, sent: sent, stop: make(chan struct{})}, nil
}

// Tracks returns the tracks, audio first.
func (s *Source) Tracks() []webrtc.TrackLocal {
	if s.Video == nil {
		return []webrtc.TrackLocal{s.Audio}
	}
	return []webrtc.TrackLocal{s.Audio, s.Video}
}

// OnSender reads the RTCP of a sender until it is closed; PLI and FIR request a key frame.
func (s *Source) OnSender(track webrtc.TrackLocal, sender *webrtc.RTPSender) {
	if track.ID() == s.Audio.ID() {
		for _, extension := range sender.GetParameters().HeaderExtensions {
			if extension.URI == sdp.AudioLevelURI {
				s.levelID.Store(uint32(extension.ID))
			}
		}
	}
	go func() {
		for {
			packets, _, err := sender.ReadRTCP()
			if err != nil {
				return
			}
			for _, packet := range packets {
				switch packet.(type) {
				case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
					s.sent.KeyRequests.Add(1)
					s.keyWanted.Store(true)
				}
			}
		}
	}()
}

// Start sends the tracks until Close.
func (s *Source) Start() {
	if s.Video != nil {
		go s.sendVideo()
	}
	go s.sendAudio()
}

// Close stops sending.
func (s *Source) Close() { close(s.stop) }

func (s *Source) write(track *webrtc.TrackLocalStaticRTP, packet *rtp.Packet, source, seq uint32) {
	writeTrailer(packet.Payload[len(packet.Payload)-trailerLength:], source, seq)
	if track.WriteRTP(packet) != nil {
		s.sent.Errors.Add(1)
	}
	s.sent.Packets.Add(1)
}

// sendVideo sends at most paceBurst packets per interval, as browsers pace their frames.
func (s *Source) sendVideo() {
	// Sources start at a random phase.
	time.Sleep(rand.N(time.Second / framerate))
	source, seq := sources.Add(1), uint32(0)
	ticker := time.NewTicker(paceInterval)
	defer ticker.Stop()
	frames := newFrames()
	start := time.Now()
	var queue []*rtp.Packet
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		if now := time.Now(); now.Sub(start) >= time.Duration(frames.count)*time.Second/framerate {
			key := frames.keyIsDue(now, s.keyWanted.Load())
			if key {
				s.keyWanted.Store(false)
			}
			queue = append(queue, frames.next(now, key)...)
		}
		for burst := 0; burst < paceBurst && len(queue) > 0; burst++ {
			seq++
			s.write(s.Video, queue[0], source, seq)
			queue = queue[1:]
		}
	}
}

func (s *Source) sendAudio() {
	time.Sleep(rand.N(audioInterval))
	source, seq := sources.Add(1), uint32(0)
	ticker := time.NewTicker(audioInterval)
	defer ticker.Stop()
	rtpSeq, timestamp := uint16(rand.Uint32()), rand.Uint32()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		rtpSeq++
		timestamp += 960
		seq++
		payload := make([]byte, audioBytes)
		payload[0] = 0x78 // CELT, 20 ms, mono
		packet := &rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: rtpSeq, Timestamp: timestamp}, Payload: payload}
		if id := s.levelID.Load(); id != 0 {
			_ = packet.Header.SetExtension(uint8(id), []byte{0x80 | 35})
		}
		s.write(s.Audio, packet, source, seq)
	}
}
