// Publishes files to a room with WHIP (RFC 9725) and pion: video from an IVF file with VP8, audio from an Ogg file with Opus.
//
//	WHIP_TOKEN=... go run . -url http://localhost:5002/whip/studio -video video.ivf -audio audio.ogg
//
// The token is that of a peer. An Ogg file has one packet in each page: ffmpeg -i input -c:a libopus -page_duration 20000 audio.ogg
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
	"github.com/pion/webrtc/v4/pkg/media/ivfreader"
	"github.com/pion/webrtc/v4/pkg/media/oggreader"
)

func main() {
	endpoint := flag.String("url", "", "WHIP URL of the room")
	video := flag.String("video", "", "IVF file")
	audio := flag.String("audio", "", "Ogg file")
	flag.Parse()
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := publish(interrupted, *endpoint, os.Getenv("WHIP_TOKEN"), *video, *audio); err != nil {
		log.Fatal(err)
	}
}

func publish(interrupted context.Context, endpoint, token, video, audio string) error {
	connection, err := newConnection()
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithCancelCause(interrupted)
	connected := make(chan struct{})
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		switch state {
		case webrtc.PeerConnectionStateConnected:
			fmt.Println("connected")
			close(connected)
		case webrtc.PeerConnectionStateFailed:
			cancel(errors.New("the connection failed"))
		}
	})
	play := func(mimeType string, open func(io.Reader) (func() (media.Sample, error), error), path string) error {
		track, err := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: mimeType}, mimeType[:5], "go-whip")
		if err != nil {
			return err
		}
		direction := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly}
		if _, err := connection.AddTransceiverFromTrack(track, direction); err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		next, err := open(file)
		go func() {
			<-connected
			cancel(send(ctx, track, next))
		}()
		return err
	}
	if err := errors.Join(play(webrtc.MimeTypeVP8, frames, video), play(webrtc.MimeTypeOpus, packets, audio)); err != nil {
		return err
	}
	session, err := negotiate(ctx, connection, endpoint, token)
	if err != nil {
		return err
	}
	<-ctx.Done()
	response, err := request(context.Background(), http.MethodDelete, session, token, nil)
	if err == nil {
		response.Body.Close()
	}
	if cause := context.Cause(ctx); interrupted.Err() == nil && !errors.Is(cause, io.EOF) {
		return cause
	}
	return err
}

func newConnection() (*webrtc.PeerConnection, error) {
	engine, interceptors, settings := &webrtc.MediaEngine{}, &interceptor.Registry{}, webrtc.SettingEngine{}
	if err := errors.Join(engine.RegisterDefaultCodecs(), webrtc.RegisterDefaultInterceptors(engine, interceptors)); err != nil {
		return nil, err
	}
	// For a node on the same computer.
	settings.SetIncludeLoopbackCandidate(true)
	api := webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(interceptors), webrtc.WithSettingEngine(settings))
	return api.NewPeerConnection(webrtc.Configuration{})
}

// negotiate sends the offer with all candidates, applies the answer and returns the URL of the session.
func negotiate(ctx context.Context, connection *webrtc.PeerConnection, endpoint, token string) (string, error) {
	offer, err := connection.CreateOffer(nil)
	if err != nil {
		return "", err
	}
	gathered := webrtc.GatheringCompletePromise(connection)
	if err := connection.SetLocalDescription(offer); err != nil {
		return "", err
	}
	<-gathered
	response, err := request(ctx, http.MethodPost, endpoint, token, []byte(connection.LocalDescription().SDP))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("%s: %s", response.Status, answer)
	}
	base, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	session, err := base.Parse(response.Header.Get("Location"))
	if err != nil {
		return "", err
	}
	description := webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: string(answer)}
	return session.String(), connection.SetRemoteDescription(description)
}

func request(ctx context.Context, method, address, token string, sdp []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(sdp))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if sdp != nil {
		request.Header.Set("Content-Type", "application/sdp")
	}
	return http.DefaultClient.Do(request)
}

// send writes samples in real time until the end of the file.
func send(ctx context.Context, track *webrtc.TrackLocalStaticSample, next func() (media.Sample, error)) error {
	due := time.Now()
	for {
		sample, err := next()
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

func frames(file io.Reader) (func() (media.Sample, error), error) {
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

func packets(file io.Reader) (func() (media.Sample, error), error) {
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
