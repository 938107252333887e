package transport

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// MaxMessage is how many bytes a request, an answer, a report or a verdict may have as it is sent.
const MaxMessage = 1 << 20

var errTooLong = fmt.Errorf("more than %d bytes", MaxMessage)

// kind is what a message is.
type kind string

const (
	report  kind = "report"
	verdict kind = "verdict"
	ticket  kind = "ticket" // of a child, for its parent
)

// message is what a node says to others that it need not be connected with.
type message struct {
	From    string `json:"from"`
	Number  uint64 `json:"number"` // rises with each message of a node
	Payload []byte `json:"payload"`
	Proof   []byte `json:"proof"` // that it is From's
}

// content is what is proven.
func (m *message) content(k kind, group, term string) (content []byte) {
	for _, part := range []string{string(k), group, term, m.From, strconv.FormatUint(m.Number, 10), string(m.Payload)} {
		content = append(binary.AppendUvarint(content, uint64(len(part))), part...)
	}
	return content
}

func mac(key, content []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(content)
	return h.Sum(nil)
}

// signed says whether the group's leader has signed it.
func (m *message) signed(k kind, g *Group) bool {
	return len(g.key) == ed25519.PublicKeySize && ed25519.Verify(g.key, m.content(k, g.name, g.term), m.Proof)
}

// frame is the message on a stream: its length, and then itself.
func (m *message) frame() ([]byte, error) {
	text, err := json.Marshal(m)
	if err == nil && len(text) > MaxMessage {
		err = errTooLong
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), err //nolint:gosec // not that long
}

// heartbeat is a frame without a message.
var heartbeat = make([]byte, 4)

// readFrame reads the next frame, with its length. It takes memory only for what has come.
func readFrame(r io.Reader) ([]byte, error) {
	frame := make([]byte, len(heartbeat), 512)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(frame))
	if length > MaxMessage {
		return nil, errTooLong
	}
	for end := len(frame) + length; len(frame) < end; {
		at := len(frame)
		frame = append(frame, make([]byte, min(end-at, max(at, 512)))...)
		if _, err := io.ReadFull(r, frame[at:]); err != nil {
			return nil, err
		}
	}
	return frame, nil
}
