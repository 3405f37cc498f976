// A client from docs/reference/protocol.md alone: joins a room, publishes a sound and a picture, receives those of the others.
//
//	PEER_TOKEN=... go run . -url ws://localhost:5002/socket/peer/websocket -say hello
//
// What it publishes does not play: packets of Opus and VP8 that hold the word of -say. It prints what it receives:
// `received audio of PEER: WORD`.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/pion/webrtc/v4"
)

func main() {
	url := flag.String("url", "ws://localhost:5002/socket/peer/websocket", "where the room is: peer_websocket_url, with ws:// before it")
	say := flag.String("say", "hello", "what the packets hold")
	flag.Parse()
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := openSocket(context.Background(), *url)
	if err == nil {
		err = run(interrupted, s, os.Getenv("PEER_TOKEN"), *say)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(interrupted context.Context, s *socket, token, say string) error {
	var welcome struct {
		PeerID          string
		RtpCapabilities struct{ Codecs []codec }
	}
	if err := s.request("authenticate", object{"token": token}, &welcome); err != nil {
		return err
	}
	codecs := understood(welcome.RtpCapabilities.Codecs)
	api, err := newAPI(codecs)
	if err != nil {
		return err
	}
	if err := s.request("join", object{"rtpCapabilities": object{"codecs": codecs, "headerExtensions": []any{}}}, nil); err != nil {
		return err
	}
	send, err := newTransport(api, s, "send")
	if err != nil {
		return err
	}
	for _, c := range codecs {
		if err := publish(api, s, send, c, append(before(c.Kind), say...)); err != nil {
			return err
		}
	}
	// From here on the server offers what others publish: trackSubscribed.
	recv, err := newTransport(api, s, "recv")
	if err != nil {
		return err
	}
	fmt.Println("joined as", welcome.PeerID)
	for {
		select {
		case event := <-s.events:
			if event.Event == "trackSubscribed" {
				err = take(api, s, recv, event)
			}
			if err != nil {
				return err
			}
		case <-s.closed:
			return s.why
		case <-interrupted.Done():
			return s.request("leave", object{}, nil)
		}
	}
}

// take receives a track that is offered and prints what its packets hold, where that is something new.
func take(api *webrtc.API, s *socket, recv *transport, event frame) error {
	var offer struct {
		PeerID, TrackID, Kind string
		RtpParameters         struct{ Encodings []struct{ SSRC webrtc.SSRC } }
	}
	if err := json.Unmarshal(event.Data, &offer); err != nil {
		return err
	}
	receiver, err := api.NewRTPReceiver(webrtc.NewRTPCodecType(offer.Kind), recv.dtls)
	if err != nil {
		return err
	}
	// Pion reads only the SSRCs that it was told of.
	coding := webrtc.RTPDecodingParameters{RTPCodingParameters: webrtc.RTPCodingParameters{SSRC: offer.RtpParameters.Encodings[0].SSRC}}
	if err := receiver.Receive(webrtc.RTPReceiveParameters{Encodings: []webrtc.RTPDecodingParameters{coding}}); err != nil {
		return err
	}
	go func() {
		start := string(before(offer.Kind))
		for last := ""; ; {
			packet, _, err := receiver.Track().ReadRTP()
			if err != nil {
				return
			}
			if word := strings.TrimPrefix(string(packet.Payload), start); word != last {
				fmt.Printf("received %s of %s: %s\n", offer.Kind, offer.PeerID, word)
				last = word
			}
		}
	}()
	// Only now the media flows: nothing of it is lost.
	return s.request("trackReady", object{"trackId": offer.TrackID}, nil)
}

// before is what comes before the word: the TOC byte of Opus (RFC 6716, section 3.1), or the payload descriptor (RFC 7741,
// section 4.2) and the start of a key frame of 16 by 16 pixels in VP8 (RFC 6386, section 9.1).
func before(kind string) []byte {
	if kind == "audio" {
		return []byte{0xfc}
	}
	return []byte{0x10, 0x50, 0x01, 0x00, 0x9d, 0x01, 0x2a, 16, 0, 16, 0}
}
