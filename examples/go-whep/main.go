// Plays a room with WHEP and pion, and records what it plays: video with VP8 to an IVF file, audio with Opus to an Ogg file.
//
//	WHEP_TOKEN=... go run . -url http://localhost:5002/whep/studio -video video.ivf -audio audio.ogg
//
// The token is that of a peer. It plays until it is interrupted, then it prints how many packets it received and missed.
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
	"sync"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
	"github.com/pion/webrtc/v4/pkg/media/ivfwriter"
	"github.com/pion/webrtc/v4/pkg/media/oggwriter"
)

func main() {
	endpoint := flag.String("url", "", "WHEP URL of the room")
	video := flag.String("video", "", "IVF file")
	audio := flag.String("audio", "", "Ogg file")
	flag.Parse()
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(interrupted, *endpoint, os.Getenv("WHEP_TOKEN"), *video, *audio); err != nil {
		log.Fatal(err)
	}
}

func play(interrupted context.Context, endpoint, token, video, audio string) error {
	connection, err := newConnection()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(interrupted)
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		switch state {
		case webrtc.PeerConnectionStateConnected:
			fmt.Println("connected")
		case webrtc.PeerConnectionStateFailed:
			cancel(errors.New("the connection failed"))
		}
	})
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		direction := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
		if _, err := connection.AddTransceiverFromKind(kind, direction); err != nil {
			return err
		}
	}
	var recordings sync.WaitGroup
	connection.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		recordings.Add(1)
		defer recordings.Done()
		requestKeyFrame(connection, track)
		if err := record(track, video, audio); err != nil {
			cancel(err)
		}
	})
	session, err := negotiate(ctx, connection, endpoint, token)
	if err != nil {
		return err
	}
	<-ctx.Done()
	response, err := request(context.Background(), http.MethodDelete, session, token, nil)
	if err == nil {
		response.Body.Close()
	}
	err = errors.Join(err, connection.Close())
	recordings.Wait()
	if interrupted.Err() == nil {
		return context.Cause(ctx)
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
		var packet *rtp.Packet
		if packet, _, err = track.ReadRTP(); err != nil {
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
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, file.Close())
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
