package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields and values, by message.
const (
	// Trace
	tracePacket = 1

	// TracePacket
	packetClocks    = 6
	packetTimestamp = 8
	packetSequence  = 10
	packetEvent     = 11
	packetTrack     = 60

	// ClockSnapshot and its Clock
	clocksClock    = 1
	clockID        = 1
	clockTimestamp = 2
	clockRealtime  = 1
	clockBoottime  = 6

	// TrackDescriptor and ProcessDescriptor
	trackUUID     = 1
	trackName     = 2
	trackProcess  = 3
	trackParent   = 5
	trackOrdering = 11
	trackRank     = 12
	orderExplicit = 3
	processPID    = 1
	processName   = 6

	// TrackEvent
	eventAnnotation = 4
	eventType       = 9
	eventTrack      = 11
	eventCategory   = 22
	eventName       = 23
	eventFlow       = 47
	typeBegin       = 1
	typeEnd         = 2
	typeInstant     = 3

	// DebugAnnotation
	annotationText = 6
	annotationName = 10
)

// message is an encoded message.
type message []byte

func (m *message) number(field protowire.Number, value uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), value)
}

func (m *message) fixed(field protowire.Number, value uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), value)
}

func (m *message) text(field protowire.Number, value string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), value)
}

func (m *message) message(field protowire.Number, fill func(*message)) {
	var inner message
	fill(&inner)
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), inner)
}

// annotation says something about an event; nothing if it is empty.
func (m *message) annotation(name, text string) {
	if text == "" {
		return
	}
	m.message(eventAnnotation, func(a *message) {
		a.text(annotationName, name)
		a.text(annotationText, text)
	})
}
