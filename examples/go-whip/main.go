// Publishes files to a room with WHIP (RFC 9725) and pion: video from an IVF file with VP8, audio from an Ogg file with Opus.
//
//	WHIP_TOKEN=... go run . -url http://localhost:5002/whip/studio -video video.ivf -audio audio.ogg
//
// The token is that of a peer, or an access token. An Ogg file has one packet in each page:
// ffmpeg -i input -c:a libopus -page_duration 20000 audio.ogg
//
// If the connection is lost, for example because the node was drained, it offers again and continues the files.
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
	"strconv"
	"sync"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
	"github.com/pion/webrtc/v4/pkg/media/ivfreader"
	"github.com/pion/webrtc/v4/pkg/media/oggreader"
)

const (
	// For each request, and for the connection after the answer.
	timeout = 10 * time.Second
	pause   = time.Second
)

// Ends of a session after which no offer follows.
var (
	errFileEnd  = errors.New("a file has ended")
	errRejected = errors.New("rejected")
)

// source returns the next sample of a file, at its end io.EOF.
type source func() (media.Sample, error)

type encoder struct {
	endpoint, token string
	video, audio    source
}

func main() {
	endpoint := flag.String("url", "", "WHIP URL of the room")
	video := flag.String("video", "", "IVF file")
	audio := flag.String("audio", "", "Ogg file")
	reconnect := flag.Duration("reconnect", 2*time.Minute, "how long it offers again after a lost connection")
	flag.Parse()
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	videoSource, videoErr := open(*video, frames)
	audioSource, audioErr := open(*audio, packets)
	if err := errors.Join(videoErr, audioErr); err != nil {
		log.Fatal(err)
	}
	e := &encoder{endpoint: *endpoint, token: os.Getenv("WHIP_TOKEN"), video: videoSource, audio: audioSource}
	if err := e.run(interrupted, *reconnect); err != nil {
		log.Fatal(err)
	}
}

// run publishes until the end of a file or an interrupt. The first offer is not repeated.
func (e *encoder) run(interrupted context.Context, reconnect time.Duration) error {
	var lost time.Time
	for {
		connected, err := e.publish(interrupted)
		if interrupted.Err() != nil || errors.Is(err, errFileEnd) {
			return nil
		}
		if connected {
			lost = time.Now()
		}
		if lost.IsZero() || errors.Is(err, errRejected) || time.Since(lost) > reconnect {
			return err
		}
		log.Printf("%v; offering again", err)
		select {
		case <-time.After(pause):
		case <-interrupted.Done():
		}
	}
}

// publish runs one session; connected: false if it ended before its media were connected.
func (e *encoder) publish(interrupted context.Context) (connected bool, err error) {
	connection, err := newConnection()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancelCause(interrupted)
	opened := watch(connection, cancel)
	var senders sync.WaitGroup
	// The next session reads the same files.
	defer senders.Wait()
	defer connection.Close()
	defer cancel(nil)
	play := func(mimeType string, next source) error {
		track, err := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: mimeType}, mimeType[:5], "go-whip")
		if err != nil {
			return err
		}
		direction := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly}
		if _, err := connection.AddTransceiverFromTrack(track, direction); err != nil {
			return err
		}
		senders.Go(func() {
			select {
			case <-opened:
				cancel(send(ctx, track, next))
			case <-ctx.Done():
			}
		})
		return nil
	}
	if err := errors.Join(play(webrtc.MimeTypeVP8, e.video), play(webrtc.MimeTypeOpus, e.audio)); err != nil {
		return false, err
	}
	session, err := e.negotiate(ctx, connection)
	if err != nil {
		return false, err
	}
	select {
	case <-opened:
		fmt.Println("connected to", remoteAddress(connection.GetTransceivers()[0].Sender().Transport()))
		connected = true
		<-ctx.Done()
	case <-time.After(timeout):
		cancel(errors.New("the media did not connect"))
	case <-ctx.Done():
	}
	err = context.Cause(ctx)
	// The next offer replaces a session whose connection was lost.
	if interrupted.Err() != nil || errors.Is(err, errFileEnd) {
		if _, _, err := e.request(context.Background(), http.MethodDelete, session, nil); err != nil {
			log.Printf("could not end the session: %v", err)
		}
	}
	return connected, err
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

// negotiate sends the offer with all candidates, applies the answer and returns the URL of the session.
func (e *encoder) negotiate(ctx context.Context, connection *webrtc.PeerConnection) (string, error) {
	offer, err := connection.CreateOffer(nil)
	if err != nil {
		return "", err
	}
	gathered := webrtc.GatheringCompletePromise(connection)
	if err := connection.SetLocalDescription(offer); err != nil {
		return "", err
	}
	<-gathered
	response, answer, err := e.request(ctx, http.MethodPost, e.endpoint, []byte(connection.LocalDescription().SDP))
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

func (e *encoder) request(ctx context.Context, method, address string, sdp []byte) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(sdp))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+e.token)
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

// send writes samples in real time until the end of the file.
func send(ctx context.Context, track *webrtc.TrackLocalStaticSample, next source) error {
	due := time.Now()
	for {
		sample, err := next()
		if errors.Is(err, io.EOF) {
			return errFileEnd
		}
		if err != nil {
			return err
		}
		if err := track.WriteSample(sample); err != nil {
			return err
		}
		due = due.Add(sample.Duration)
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open returns the samples of a file, which stays open.
func open(path string, samples func(io.Reader) (source, error)) (source, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return samples(file)
}

func frames(file io.Reader) (source, error) {
	reader, header, err := ivfreader.NewWith(file)
	if err != nil {
		return nil, err
	}
	duration := time.Second * time.Duration(header.TimebaseNumerator) / time.Duration(header.TimebaseDenominator)
	return func() (media.Sample, error) {
		frame, _, err := reader.ParseNextFrame()
		return media.Sample{Data: frame, Duration: duration}, err
	}, nil
}

func packets(file io.Reader) (source, error) {
	reader, _, err := oggreader.NewWith(file)
	var before uint64
	return func() (media.Sample, error) {
		page, header, err := reader.ParseNextPage()
		if err == nil && bytes.HasPrefix(page, []byte("OpusTags")) {
			page, header, err = reader.ParseNextPage()
		}
		if err != nil {
			return media.Sample{}, err
		}
		samples := header.GranulePosition - before
		before = header.GranulePosition
		return media.Sample{Data: page, Duration: time.Duration(samples) * time.Second / 48_000}, nil
	}, err
}
