package mediarooms

import (
	"slices"
	"strings"

	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"
	"mediarooms/bench-load/sfu"
)

// Media objects (docs/reference/media-objects.md).
type (
	rtcpFeedback struct {
		Type      string `json:"type"`
		Parameter string `json:"parameter,omitempty"`
	}
	codec struct {
		Kind                 string         `json:"kind,omitempty"`
		MimeType             string         `json:"mimeType"`
		PayloadType          int            `json:"payloadType,omitempty"`
		PreferredPayloadType int            `json:"preferredPayloadType,omitempty"`
		ClockRate            int            `json:"clockRate"`
		Channels             int            `json:"channels,omitempty"`
		Parameters           map[string]any `json:"parameters,omitempty"`
		RTCPFeedback         []rtcpFeedback `json:"rtcpFeedback,omitempty"`
	}
	extension struct {
		Kind             string `json:"kind,omitempty"`
		URI              string `json:"uri"`
		ID               int    `json:"id,omitempty"`
		PreferredID      int    `json:"preferredId,omitempty"`
		PreferredEncrypt bool   `json:"preferredEncrypt,omitempty"`
		Direction        string `json:"direction,omitempty"`
	}
	capabilities struct {
		Codecs           []codec     `json:"codecs"`
		HeaderExtensions []extension `json:"headerExtensions"`
	}
	ssrcOf struct {
		SSRC uint32 `json:"ssrc"`
	}
	encoding struct {
		SSRC uint32  `json:"ssrc"`
		RTX  *ssrcOf `json:"rtx,omitempty"`
	}
	rtpParameters struct {
		MID              string      `json:"mid,omitempty"`
		Codecs           []codec     `json:"codecs"`
		HeaderExtensions []extension `json:"headerExtensions"`
		Encodings        []encoding  `json:"encodings"`
		RTCP             struct {
			CNAME       string `json:"cname,omitempty"`
			ReducedSize bool   `json:"reducedSize"`
		} `json:"rtcp"`
	}
	transportOptions struct {
		ID            string `json:"id"`
		ICEParameters struct {
			UsernameFragment, Password string
			ICELite                    bool `json:"iceLite"`
		} `json:"iceParameters"`
		ICECandidates []struct {
			Foundation, Address, Protocol, Type, TCPType string
			Priority                                     uint32
			Port                                         int
		} `json:"iceCandidates"`
		DTLSParameters struct {
			Fingerprints []struct{ Algorithm, Value string }
		} `json:"dtlsParameters"`
	}
)

const transportCC = sdp.TransportCCURI

// Header extensions of sfu.NewAPI by media kind.
var extensions = map[string][]string{
	"audio": {sdp.SDESMidURI, sdp.AudioLevelURI, transportCC},
	"video": {sdp.SDESMidURI, sdp.ABSSendTimeURI, transportCC},
}

// feedbackOf returns the feedback that sfu.NewAPI supports for a codec; false if it does not support the codec.
func feedbackOf(mimeType string) ([]rtcpFeedback, bool) {
	switch {
	case strings.EqualFold(mimeType, webrtc.MimeTypeOpus):
		return []rtcpFeedback{{Type: "transport-cc"}}, true
	case strings.EqualFold(mimeType, webrtc.MimeTypeVP8):
		var all []rtcpFeedback
		for _, each := range sfu.VideoFeedback {
			all = append(all, rtcpFeedback(each))
		}
		return all, true
	}
	return nil, strings.EqualFold(mimeType, webrtc.MimeTypeRTX)
}

// receivable returns what a participant can receive, with the payload types and extension ids of the room.
func receivable(room capabilities) (supported capabilities) {
	vp8 := -1
	for _, each := range room.Codecs {
		if strings.EqualFold(each.MimeType, webrtc.MimeTypeVP8) {
			vp8 = each.PreferredPayloadType
		}
	}
	for _, each := range room.Codecs {
		feedback, ok := feedbackOf(each.MimeType)
		isOtherRTX := strings.EqualFold(each.MimeType, webrtc.MimeTypeRTX) && each.Parameters["apt"] != float64(vp8)
		if !ok || isOtherRTX {
			continue
		}
		each.RTCPFeedback = common(each.RTCPFeedback, feedback)
		supported.Codecs = append(supported.Codecs, each)
	}
	for _, each := range room.HeaderExtensions {
		if slices.Contains(extensions[each.Kind], each.URI) && (each.Direction == "sendrecv" || each.Direction == "sendonly") {
			each.Direction = ""
			supported.HeaderExtensions = append(supported.HeaderExtensions, each)
		}
	}
	return supported
}

func common(one, other []rtcpFeedback) (both []rtcpFeedback) {
	for _, each := range one {
		if slices.Contains(other, each) && !slices.Contains(both, each) {
			both = append(both, each)
		}
	}
	return both
}

// section is one media section: a track, with its stream if it is received.
type section struct {
	kind, stream, track string
	parameters          rtpParameters
}

const (
	probatorName        = "probator"
	probatorSSRC        = 1234
	probatorPayloadType = 127
)

// probator is the section of the padding with which the server measures bandwidth. It comes before all tracks and has all codecs, because
// pion assigns an SSRC when its first packet arrives, and takes payload types from the first section of a media kind.
func probator(receivable capabilities) section {
	padding := section{kind: "video", stream: probatorName, track: probatorName}
	padding.parameters.MID, padding.parameters.RTCP.CNAME = probatorName, probatorName
	padding.parameters.Encodings = []encoding{{SSRC: probatorSSRC}}
	for _, each := range receivable.Codecs {
		if each.Kind == "video" {
			each.PayloadType = each.PreferredPayloadType
			padding.parameters.Codecs = append(padding.parameters.Codecs, each)
		}
	}
	if len(padding.parameters.Codecs) > 0 {
		own := padding.parameters.Codecs[0]
		own.PayloadType = probatorPayloadType
		padding.parameters.Codecs = append(padding.parameters.Codecs, own)
	}
	for _, each := range receivable.HeaderExtensions {
		if each.Kind == "video" {
			padding.parameters.HeaderExtensions = append(padding.parameters.HeaderExtensions, extension{URI: each.URI, ID: each.PreferredID})
		}
	}
	return padding
}
