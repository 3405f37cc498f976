package mediarooms

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pion/sdp/v3"
)

// offerText is the SDP of the server for the tracks that are received.
func offerText(version int, transport *transportOptions, sections []section) string {
	var text strings.Builder
	writeHead(&text, version, transport, sections)
	for _, each := range sections {
		writeMedia(&text, transport, each)
		fmt.Fprintf(&text, "a=sendonly\r\na=msid:%s %s\r\n", each.stream, each.track)
		first := each.parameters.Encodings[0]
		if first.RTX != nil {
			fmt.Fprintf(&text, "a=ssrc-group:FID %d %d\r\n", first.SSRC, first.RTX.SSRC)
		}
		fmt.Fprintf(&text, "a=ssrc:%d cname:%s\r\n", first.SSRC, each.parameters.RTCP.CNAME)
		if first.RTX != nil {
			fmt.Fprintf(&text, "a=ssrc:%d cname:%s\r\n", first.RTX.SSRC, each.parameters.RTCP.CNAME)
		}
	}
	return text.String()
}

// answerText is the SDP of the server for the tracks that are published.
func answerText(transport *transportOptions, sections []section) string {
	var text strings.Builder
	writeHead(&text, 1, transport, sections)
	for _, each := range sections {
		writeMedia(&text, transport, each)
		text.WriteString("a=recvonly\r\n")
	}
	return text.String()
}

func writeHead(text *strings.Builder, version int, transport *transportOptions, sections []section) {
	fmt.Fprintf(text, "v=0\r\no=- 10000 %d IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n", version)
	if transport.ICEParameters.ICELite {
		text.WriteString("a=ice-lite\r\n")
	}
	for _, print := range transport.DTLSParameters.Fingerprints {
		if print.Algorithm == "sha-256" {
			fmt.Fprintf(text, "a=fingerprint:%s %s\r\n", print.Algorithm, print.Value)
		}
	}
	text.WriteString("a=msid-semantic: WMS *\r\na=group:BUNDLE")
	for _, each := range sections {
		text.WriteString(" " + each.parameters.MID)
	}
	text.WriteString("\r\n")
}

// writeMedia writes a section up to its direction. The server is passive in DTLS.
func writeMedia(text *strings.Builder, transport *transportOptions, of section) {
	fmt.Fprintf(text, "m=%s 7 UDP/TLS/RTP/SAVPF", of.kind)
	for _, each := range of.parameters.Codecs {
		fmt.Fprintf(text, " %d", each.PayloadType)
	}
	fmt.Fprintf(text, "\r\nc=IN IP4 127.0.0.1\r\na=mid:%s\r\n", of.parameters.MID)
	fmt.Fprintf(text, "a=setup:passive\r\na=ice-ufrag:%s\r\na=ice-pwd:%s\r\n",
		transport.ICEParameters.UsernameFragment, transport.ICEParameters.Password)
	for _, each := range transport.ICECandidates {
		fmt.Fprintf(text, "a=candidate:%s 1 %s %d %s %d typ %s",
			each.Foundation, each.Protocol, each.Priority, each.Address, each.Port, each.Type)
		if each.TCPType != "" {
			text.WriteString(" tcptype " + each.TCPType)
		}
		text.WriteString("\r\n")
	}
	text.WriteString("a=end-of-candidates\r\na=rtcp-mux\r\na=rtcp-rsize\r\n")
	for _, each := range of.parameters.Codecs {
		writeCodec(text, each)
	}
	for _, each := range of.parameters.HeaderExtensions {
		fmt.Fprintf(text, "a=extmap:%d %s\r\n", each.ID, each.URI)
	}
}

func writeCodec(text *strings.Builder, of codec) {
	_, name, _ := strings.Cut(of.MimeType, "/")
	fmt.Fprintf(text, "a=rtpmap:%d %s/%d", of.PayloadType, name, of.ClockRate)
	if of.Channels > 1 {
		fmt.Fprintf(text, "/%d", of.Channels)
	}
	text.WriteString("\r\n")
	var parameters []string
	for key, value := range of.Parameters {
		parameters = append(parameters, fmt.Sprintf("%s=%v", key, value))
	}
	if len(parameters) > 0 {
		slices.Sort(parameters)
		fmt.Fprintf(text, "a=fmtp:%d %s\r\n", of.PayloadType, strings.Join(parameters, ";"))
	}
	for _, each := range of.RTCPFeedback {
		fmt.Fprintf(text, "a=rtcp-fb:%d %s\r\n", of.PayloadType, strings.TrimSpace(each.Type+" "+each.Parameter))
	}
}

// readOffer returns the sections of an offer of pion, with what the room supports.
func readOffer(offer string, room capabilities) ([]section, error) {
	var description sdp.SessionDescription
	if err := description.UnmarshalString(offer); err != nil {
		return nil, err
	}
	var sections []section
	for _, media := range description.MediaDescriptions {
		read := section{kind: media.MediaName.Media}
		codecs := map[string]*codec{}
		for _, attribute := range media.Attributes {
			readAttribute(attribute, &read, codecs, room)
		}
		for _, format := range media.MediaName.Formats {
			if found := codecs[format]; found != nil {
				addSupported(&read, *found, room)
			}
		}
		if len(read.parameters.Codecs) == 0 {
			return nil, fmt.Errorf("the room supports no %s codec of the offer", read.kind)
		}
		sections = append(sections, read)
	}
	return sections, nil
}

func readAttribute(attribute sdp.Attribute, into *section, codecs map[string]*codec, room capabilities) {
	id, rest, _ := strings.Cut(attribute.Value, " ")
	number, _ := strconv.Atoi(id)
	switch attribute.Key {
	case "mid":
		into.parameters.MID = attribute.Value
	case "rtpmap":
		fields := append(strings.Split(rest, "/"), "", "")
		read := &codec{MimeType: into.kind + "/" + fields[0], PayloadType: number}
		read.ClockRate, _ = strconv.Atoi(fields[1])
		read.Channels, _ = strconv.Atoi(fields[2])
		codecs[id] = read
	case "fmtp":
		if found := codecs[id]; found != nil {
			found.Parameters = readParameters(rest)
		}
	case "rtcp-fb":
		if found := codecs[id]; found != nil {
			kind, parameter, _ := strings.Cut(rest, " ")
			found.RTCPFeedback = append(found.RTCPFeedback, rtcpFeedback{kind, strings.TrimSpace(parameter)})
		}
	case "extmap":
		for _, each := range room.HeaderExtensions {
			if each.Kind == into.kind && each.URI == rest && (each.Direction == "sendrecv" || each.Direction == "recvonly") {
				into.parameters.HeaderExtensions = append(into.parameters.HeaderExtensions, extension{URI: rest, ID: number})
			}
		}
	}
}

func readParameters(text string) map[string]any {
	parameters := map[string]any{}
	for _, pair := range strings.Split(text, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if number, err := strconv.Atoi(value); err == nil {
			parameters[key] = number
		} else {
			parameters[key] = value
		}
	}
	return parameters
}

func addSupported(to *section, offered codec, room capabilities) {
	for _, each := range room.Codecs {
		if strings.EqualFold(each.MimeType, offered.MimeType) && each.ClockRate == offered.ClockRate {
			offered.RTCPFeedback = common(offered.RTCPFeedback, each.RTCPFeedback)
			to.parameters.Codecs = append(to.parameters.Codecs, offered)
			return
		}
	}
}
