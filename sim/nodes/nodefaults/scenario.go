package nodefaults

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lifepod/lifepod/sim/scenario"
)

// Scenario is what happens to nodes. Each lives by the first entry that chooses it; one that none
// chooses has nothing happen to it.
type Scenario struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Nodes      []Entry `json:"nodes"`
}

// Entry chooses nodes, by their names or by chance, and says what happens to them.
type Entry struct {
	Names  string  `json:"names,omitempty"` // a pattern, such as sim-1*
	Share  *Share  `json:"share,omitempty"` // of all nodes, drawn of those that no earlier entry has
	Slow   *Factor `json:"slow,omitempty"`  // calls of the container runtime take so many times as long
	Events []Event `json:"events,omitempty"`
}

// Event is something that happens to a node at a time; it has one of the others.
type Event struct {
	At        *scenario.Span    `json:"at"`                  // since the cluster knew the node
	Partition *scenario.Down    `json:"partition,omitempty"` // it can't reach the API server, nor be reached
	Reboot    *scenario.Down    `json:"reboot,omitempty"`    // it is gone, and then there again
	Loss      *scenario.Nothing `json:"loss,omitempty"`      // it is gone for good
}

// Share is a part of all nodes, such as 1%.
type Share struct {
	text    string
	percent float64
}

var errShare = errors.New("no share")

// ParseShare reads one.
func ParseShare(text string) (Share, error) {
	number, is := strings.CutSuffix(strings.TrimSpace(text), "%")
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !is || !(percent > 0 && percent <= 100) {
		return Share{}, errShare
	}
	return Share{text: text, percent: percent}, nil
}

// UnmarshalJSON reads a Share.
func (s *Share) UnmarshalJSON(data []byte) (err error) {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*s, err = ParseShare(text)
	return err
}

// MarshalJSON writes a Share.
func (s Share) MarshalJSON() ([]byte, error) { return json.Marshal(s.text) }

// Want says what a Share looks like.
func (*Share) Want() string { return "a share of all nodes, such as 1%, above 0% and up to 100%" }

// String is the Share as it was written.
func (s *Share) String() string { return s.text }

// of is how many nodes it is, to the nearest whole number.
func (s *Share) of(nodes int) int { return int(math.Round(float64(nodes) * s.percent / 100)) }

// Factor is how many times as long something takes, at least as long as usual.
type Factor float64

// most is the largest Factor: what takes 100 ms then takes a quarter of an hour.
const most = 10_000

var errFactor = errors.New("no factor")

// UnmarshalJSON reads a Factor.
func (f *Factor) UnmarshalJSON(data []byte) error {
	var times float64
	if err := json.Unmarshal(data, &times); err != nil {
		return err
	}
	if !(times >= 1 && times <= most) {
		return errFactor
	}
	*f = Factor(times)
	return nil
}

// Want says what a Factor looks like.
func (*Factor) Want() string { return fmt.Sprintf("how many times as long calls take: 1 to %d", most) }
