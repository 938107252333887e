package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// rulesCode is the exit code on which all containers of a pod restart.
const rulesCode = "exit-88"

// testimony is what the containers of one pod have written, whose order is the
// order in which things happened, judged line by line.
type testimony struct {
	starts   map[string]int // by container
	wrongs   []string
	instance map[string]string // that lives, or lived last
	ended    map[string]string // its last words, if it has ended by itself
	pending  []string          // containers that are to start because all restart
	order    []string          // containers in the order of their first start
	said     map[string]int    // how often an instance said something that is said once
	unasked  map[string]int    // starts that nothing explains, by container
	unknown  map[string]int    // ends whose code may not have become known, by container
}

// testimonyOf reads what a pod's containers wrote; one that wrote nothing never
// ran. The history's lock is held.
func (n *node) testimonyOf(uid types.UID) *testimony {
	text, err := os.ReadFile(filepath.Join(n.dir, string(uid)))
	assert.Require(n.t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
	cutOff := n.history.cutOff(uid)
	t := judge(string(text), cutOff)
	t.explain(cutOff, n.runtimeKills)
	return t
}

func judge(text string, cutOff map[string]int) *testimony {
	t := &testimony{unknown: maps.Clone(cutOff), starts: map[string]int{}, instance: map[string]string{}, ended: map[string]string{}, said: map[string]int{}, unasked: map[string]int{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) != 3 {
			t.wrong(number, "%q is not a whole line", line)
			continue
		}
		t.line(number, words[0], words[1], words[2])
	}
	return t
}

func (t *testimony) wrong(line int, format string, arguments ...any) {
	t.wrongs = append(t.wrongs, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, arguments...))
}

func (t *testimony) line(number int, container, id, word string) {
	if word == "start" {
		t.started(number, container, id)
		return
	}
	if t.instance[container] != id {
		t.wrong(number, "%s %s says %s, but its instance is %s", container, id, word, t.instance[container])
	}
	switch {
	case word == "beat":
	case strings.HasPrefix(word, "exit-"):
		t.ended[container] = word
		if word == rulesCode {
			t.pending = slices.Clone(t.order)
		}
	default:
		if t.said[id+word]++; t.said[id+word] > 1 {
			t.wrong(number, "%s %s says %s again", container, id, word)
		}
	}
}

// started judges a start: the first, one of all, or one that follows an end.
func (t *testimony) started(number int, container, id string) {
	t.starts[container]++
	switch {
	case t.starts[container] == 1:
		t.order = append(t.order, container)
	case len(t.pending) == len(t.order) && container != t.order[0] && t.unknown[container] > 0:
		t.unknown[container]-- // nobody knew that all were to restart
		t.pending = nil
	case slices.Contains(t.pending, container):
		if t.pending[0] != container {
			t.wrong(number, "%s starts while all restart, want %s first", container, t.pending[0])
		}
		t.pending = slices.DeleteFunc(t.pending, func(c string) bool { return c == container })
		if container == t.order[0] { // nothing of the others may live any more
			t.instance, t.ended = map[string]string{}, map[string]string{}
		}
	case t.ended[container] == "" || t.ended[container] == "exit-0" && container == "init":
		t.unasked[container]++
	}
	t.instance[container] = id
	delete(t.ended, container)
}

// explain holds the starts that nothing explains against those that were cut off:
// a runtime ends what it is starting when whoever asked for it dies, or itself.
func (t *testimony) explain(cutOff map[string]int, runtimeKills int) {
	for container, unasked := range t.unasked {
		if unasked > cutOff[container]+runtimeKills {
			t.wrongs = append(t.wrongs, fmt.Sprintf("%s has restarted %d times though nobody asked for it, %d starts were cut off", container, unasked, cutOff[container]))
		}
	}
}
