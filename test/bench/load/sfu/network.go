package sfu

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/transport/v4"
	"github.com/pion/transport/v4/stdnet"
	"github.com/pion/webrtc/v4"
)

// Network is the UDP of one participant. It loses a share of the media that arrives, and it counts media at the socket: a receiver that
// decrypts every packet costs more than the server, so that a core of such receivers cannot saturate a core of the server.
type Network struct {
	*stdnet.Net
	// Loss is the share of arriving media packets that are lost.
	Loss float64
	// Lost counts them.
	Lost atomic.Uint64

	mu       sync.RWMutex
	counters map[uint32]*Counter
	feedback *feedback
}

// NewNetwork returns a network that loses this share of the media that arrives.
func NewNetwork(loss float64) (*Network, error) {
	system, err := stdnet.NewNet()
	return &Network{Net: system, Loss: loss, counters: map[uint32]*Counter{}}, err
}

// Counter counts the packets of one track by the sequence numbers of RTP.
type Counter struct {
	mu          sync.Mutex
	first, last int64
	received    int64
}

// Read returns the packets that arrived, and those that were expected.
func (c *Counter) Read() (received, expected int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.received == 0 {
		return 0, 0
	}
	return c.received, c.last - c.first + 1
}

func (c *Counter) add(seq uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.received == 0 {
		c.first, c.last = int64(seq), int64(seq)
	} else if ahead := int16(seq - uint16(c.last)); ahead > 0 {
		c.last += int64(ahead)
	}
	c.received++
}

// Count counts the packets of a track from now on. They do not reach the track any more. If the server expects transport-wide feedback, it
// is sent as before.
func (n *Network) Count(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) *Counter {
	counter := &Counter{}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counters[uint32(track.SSRC())] = counter
	for _, extension := range receiver.GetParameters().HeaderExtensions {
		if extension.URI == transportCC && n.feedback == nil {
			n.feedback = startFeedback(uint8(extension.ID), receiver.Transport())
		}
	}
	return counter
}

// Close stops the feedback.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.feedback != nil {
		close(n.feedback.stop)
		n.feedback = nil
	}
}

// ListenUDP implements transport.Net.
func (n *Network) ListenUDP(network string, address *net.UDPAddr) (transport.UDPConn, error) {
	conn, err := n.Net.ListenUDP(network, address)
	if err != nil {
		return nil, err
	}
	socket, ok := conn.(*net.UDPConn)
	if !ok {
		return nil, errors.New("the network has no UDP sockets")
	}
	return &udpConn{UDPConn: socket, network: n}, nil
}

// consumes is true if a datagram does not arrive at the participant.
func (n *Network) consumes(datagram []byte) bool {
	// RFC 7983 and RFC 5761: SRTP, and not STUN, DTLS or SRTCP.
	if len(datagram) < 12 || datagram[0] < 128 || datagram[0] > 191 || (datagram[1] >= 192 && datagram[1] <= 223) {
		return false
	}
	if n.Loss > 0 && rand.Float64() < n.Loss {
		n.Lost.Add(1)
		return true
	}
	n.mu.RLock()
	counter, feedback := n.counters[binary.BigEndian.Uint32(datagram[8:])], n.feedback
	n.mu.RUnlock()
	if counter == nil {
		return false
	}
	counter.add(binary.BigEndian.Uint16(datagram[2:]))
	if feedback != nil {
		feedback.record(datagram)
	}
	return true
}

// udpConn implements ice.AddrPortReaderWriter, which pion prefers to ReadFrom and WriteTo.
type udpConn struct {
	*net.UDPConn
	network *Network
}

func (c *udpConn) ReadFromAddrPort(buffer []byte) (int, netip.AddrPort, error) {
	for {
		length, from, err := c.UDPConn.ReadFromUDPAddrPort(buffer)
		if err != nil || !c.network.consumes(buffer[:length]) {
			return length, from, err
		}
	}
}

func (c *udpConn) WriteToAddrPort(buffer []byte, to netip.AddrPort) (int, error) {
	return c.UDPConn.WriteToUDPAddrPort(buffer, to)
}

const (
	transportCC      = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
	feedbackInterval = 100 * time.Millisecond
)

// feedback reports the arrival of counted packets, as the interceptor of pion does for others.
type feedback struct {
	extension uint8
	mu        sync.Mutex
	recorder  *twcc.Recorder
	start     time.Time
	stop      chan struct{}
}

func startFeedback(extension uint8, dtls *webrtc.DTLSTransport) *feedback {
	f := &feedback{extension: extension, recorder: twcc.NewRecorder(rand.Uint32()), start: time.Now(), stop: make(chan struct{})}
	go func() {
		ticker := time.NewTicker(feedbackInterval)
		defer ticker.Stop()
		for {
			select {
			case <-f.stop:
				return
			case <-ticker.C:
			}
			f.mu.Lock()
			packets := f.recorder.BuildFeedbackPacket()
			f.mu.Unlock()
			if len(packets) > 0 {
				_, _ = dtls.WriteRTCP(packets)
			}
		}
	}()
	return f
}

func (f *feedback) record(datagram []byte) {
	value := extensionOf(datagram, f.extension)
	if len(value) < 2 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recorder.Record(binary.BigEndian.Uint32(datagram[8:]), binary.BigEndian.Uint16(value), time.Since(f.start).Microseconds())
}

// extensionOf returns the value of a header extension (RFC 8285, one-byte headers), which SRTP does not encrypt.
func extensionOf(datagram []byte, id uint8) []byte {
	start := 12 + 4*int(datagram[0]&0x0f)
	if datagram[0]&0x10 == 0 || len(datagram) < start+4 || binary.BigEndian.Uint16(datagram[start:]) != 0xbede {
		return nil
	}
	end := start + 4 + 4*int(binary.BigEndian.Uint16(datagram[start+2:]))
	for at := start + 4; at < min(end, len(datagram)); {
		if datagram[at] == 0 {
			at++
			continue
		}
		length := int(datagram[at]&0x0f) + 1
		if at+1+length > len(datagram) {
			return nil
		}
		if datagram[at]>>4 == id {
			return datagram[at+1 : at+1+length]
		}
		at += 1 + length
	}
	return nil
}
