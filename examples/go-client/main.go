// Go client, written from docs/reference/protocol.md: joins a room, publishes audio and video, and receives those of other peers.
//
//	PEER_TOKEN=... go run . -url ws://localhost:5002/socket/peer/websocket -say hello
//
// Its Opus and VP8 packets contain only the word of -say and cannot be played. It prints received packets:
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
	url := flag.String("url", "ws://localhost:5002/socket/peer/websocket", "peer_websocket_url of the peer, prefixed with ws://")
	say := flag.String("say", "hello", "content of the packets")
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
	// From now on the server announces tracks of other peers: trackSubscribed.
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

// take receives an announced track and prints the content of its packets when it changes.
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
	// Pion reads only configured SSRCs.
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
	// The server starts forwarding only now, so no packet is lost.
	return s.request("trackReady", object{"trackId": offer.TrackID}, nil)
}

// before is the prefix of the word: the TOC byte of Opus (RFC 6716, section 3.1), or the payload descriptor (RFC 7741,
// section 4.2) and the start of a key frame of 16 by 16 pixels in VP8 (RFC 6386, section 9.1).
func before(kind string) []byte {
	if kind == "audio" {
		return []byte{0xfc}
	}
	return []byte{0x10, 0x50, 0x01, 0x00, 0x9d, 0x01, 0x2a, 16, 0, 16, 0}
}
