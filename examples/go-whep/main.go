// Plays a room with WHEP and pion, and records what it plays: video with VP8 to an IVF file or with H.264 to a byte stream, audio with Opus
// to an Ogg file.
//
//	WHEP_TOKEN=... go run . -url http://localhost:5002/whep/studio -video video.ivf -audio audio.ogg
//
// The token is that of a peer, or an access token. It plays until it is interrupted, then it prints how many packets it
// received and missed.
//
// If the connection is lost, for example because the node was drained, it offers again. The second session is recorded to
// video-2.ivf and audio-2.ogg.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
	"github.com/pion/webrtc/v4/pkg/media/h264writer"
	"github.com/pion/webrtc/v4/pkg/media/ivfwriter"
	"github.com/pion/webrtc/v4/pkg/media/oggwriter"
)

const (
	// For each request, and for the connection after the answer.
	timeout = 10 * time.Second
	pause   = time.Second
)

// Ends of a session after which no offer follows.
var (
	errRecording = errors.New("could not record")
	errRejected  = errors.New("rejected")
)

type player struct {
	endpoint, token string
	video, audio    string
	// Number of sessions that were connected.
	sessions int
}

func main() {
	endpoint := flag.String("url", "", "WHEP URL of the room")
	video := flag.String("video", "", "IVF file of VP8, or byte stream of H.264")
	audio := flag.String("audio", "", "Ogg file")
	reconnect := flag.Duration("reconnect", 2*time.Minute, "how long it offers again after a lost connection")
	flag.Parse()
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := &player{endpoint: *endpoint, token: os.Getenv("WHEP_TOKEN"), video: *video, audio: *audio}
	if err := p.run(interrupted, *reconnect); err != nil {
		log.Fatal(err)
	}
}

// run plays until an interrupt. The first offer is not repeated.
func (p *player) run(interrupted context.Context, reconnect time.Duration) error {
	var lost time.Time
	for {
		connected, err := p.play(interrupted)
		if interrupted.Err() != nil {
			return nil
		}
		if connected {
			lost = time.Now()
		}
		if lost.IsZero() || errors.Is(err, errRecording) || errors.Is(err, errRejected) || time.Since(lost) > reconnect {
			return err
		}
		log.Printf("%v; offering again", err)
		select {
		case <-time.After(pause):
		case <-interrupted.Done():
		}
	}
}

// play runs one session; connected: false if it ended before its media were connected.
func (p *player) play(interrupted context.Context) (connected bool, err error) {
	connection, err := newConnection()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancelCause(interrupted)
	opened := watch(connection, cancel)
	var recordings sync.WaitGroup
	defer recordings.Wait()
	defer connection.Close()
	defer cancel(nil)
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		direction := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
		if _, err := connection.AddTransceiverFromKind(kind, direction); err != nil {
			return false, err
		}
	}
	video, audio := numbered(p.video, p.sessions+1), numbered(p.audio, p.sessions+1)
	connection.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		recordings.Add(1)
		defer recordings.Done()
		requestKeyFrame(connection, track)
		if err := record(track, video, audio); err != nil {
			cancel(fmt.Errorf("%w: %w", errRecording, err))
		}
	})
	session, err := p.negotiate(ctx, connection)
	if err != nil {
		return false, err
	}
	select {
	case <-opened:
		fmt.Println("connected to", remoteAddress(connection.GetTransceivers()[0].Receiver().Transport()))
		connected = true
		p.sessions++
		<-ctx.Done()
	case <-time.After(timeout):
		cancel(errors.New("the media did not connect"))
	case <-ctx.Done():
	}
	// The next offer replaces a session whose connection was lost.
	if interrupted.Err() != nil {
		if _, _, err := p.request(context.Background(), http.MethodDelete, session, nil); err != nil {
			log.Printf("could not end the session: %v", err)
		}
	}
	return connected, context.Cause(ctx)
}

// numbered returns the path for a session: that of the first one is unchanged.
func numbered(path string, session int) string {
	if session == 1 {
		return path
	}
	extension := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, extension), session, extension)
}

// watch returns a channel that is closed when the media are connected, and cancels when the connection is lost.
func watch(connection *webrtc.PeerConnection, cancel context.CancelCauseFunc) <-chan struct{} {
	opened := make(chan struct{})
	var once sync.Once
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		switch state {
		case webrtc.PeerConnectionStateConnected:
			once.Do(func() { close(opened) })
		case webrtc.PeerConnectionStateFailed:
			cancel(errors.New("the connection was lost"))
		case webrtc.PeerConnectionStateClosed:
			// A node that ends the session sends a DTLS alert, after which pion closes the connection: it never fails.
			cancel(errors.New("the node closed the connection"))
		}
	})
	return opened
}

// remoteAddress returns the UDP address to which the media are sent, or from which they arrive.
func remoteAddress(transport *webrtc.DTLSTransport) string {
	pair, err := transport.ICETransport().GetSelectedCandidatePair()
	if err != nil || pair == nil {
		return "an unknown address"
	}
	return net.JoinHostPort(pair.Remote.Address, strconv.Itoa(int(pair.Remote.Port)))
}

func newConnection() (*webrtc.PeerConnection, error) {
	engine, interceptors, settings := &webrtc.MediaEngine{}, &interceptor.Registry{}, webrtc.SettingEngine{}
	if err := errors.Join(engine.RegisterDefaultCodecs(), webrtc.RegisterDefaultInterceptors(engine, interceptors)); err != nil {
		return nil, err
	}
	// For a node on the same computer.
	settings.SetIncludeLoopbackCandidate(true)
	// A node that crashed sends no alert: the connection fails after 10 s instead of 30 s.
	settings.SetICETimeouts(5*time.Second, 5*time.Second, 2*time.Second)
	api := webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(interceptors), webrtc.WithSettingEngine(settings))
	return api.NewPeerConnection(webrtc.Configuration{})
}

// requestKeyFrame asks for the frame with which a recording begins, in case the first one arrived before the recording.
func requestKeyFrame(connection *webrtc.PeerConnection, track *webrtc.TrackRemote) {
	if track.Kind() != webrtc.RTPCodecTypeVideo {
		return
	}
	if err := connection.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(track.SSRC())}}); err != nil {
		log.Print(err)
	}
}

// record writes a track to its file until the connection closes.
func record(track *webrtc.TrackRemote, video, audio string) (err error) {
	started := time.Now()
	codec := track.Codec()
	var file media.Writer
	switch codec.MimeType {
	case webrtc.MimeTypeVP8:
		file, err = ivfwriter.New(video)
	case webrtc.MimeTypeH264:
		file, err = h264writer.New(video)
	case webrtc.MimeTypeOpus:
		file, err = oggwriter.New(audio, codec.ClockRate, codec.Channels)
	default:
		err = fmt.Errorf("this example cannot record %s", codec.MimeType)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%s: ssrc %d, payload type %d\n", codec.MimeType, track.SSRC(), track.PayloadType())
	received, missing, newest := 0, 0, uint16(0)
	for {
		packet, _, closed := track.ReadRTP()
		if closed != nil {
			break
		}
		if ahead := packet.SequenceNumber - newest; received > 0 && ahead < 1<<15 {
			missing += int(ahead) - 1
		} else if received > 0 {
			// A packet that was late or sent again.
			missing--
		}
		if received == 0 || packet.SequenceNumber-newest < 1<<15 {
			newest = packet.SequenceNumber
		}
		received++
		if err = file.WriteRTP(packet); err != nil {
			break
		}
	}
	fmt.Printf("%s: %d packets received, %d missing, %s\n", codec.MimeType, received, missing, time.Since(started).Round(time.Millisecond))
	return errors.Join(err, file.Close())
}

// negotiate sends the offer with all candidates, applies the answer and returns the URL of the session.
func (p *player) negotiate(ctx context.Context, connection *webrtc.PeerConnection) (string, error) {
	offer, err := connection.CreateOffer(nil)
	if err != nil {
		return "", err
	}
	gathered := webrtc.GatheringCompletePromise(connection)
	if err := connection.SetLocalDescription(offer); err != nil {
		return "", err
	}
	<-gathered
	response, answer, err := p.request(ctx, http.MethodPost, p.endpoint, []byte(connection.LocalDescription().SDP))
	if err != nil {
		return "", err
	}
	switch response.StatusCode {
	case http.StatusCreated:
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity:
		return "", fmt.Errorf("%w: %s: %s", errRejected, response.Status, answer)
	default:
		return "", fmt.Errorf("%s: %s", response.Status, answer)
	}
	session, err := response.Request.URL.Parse(response.Header.Get("Location"))
	if err != nil {
		return "", err
	}
	description := webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: string(answer)}
	return session.String(), connection.SetRemoteDescription(description)
}

func (p *player) request(ctx context.Context, method, address string, sdp []byte) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(sdp))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	if sdp != nil {
		request.Header.Set("Content-Type", "application/sdp")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response, body, err
}
