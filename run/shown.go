package run

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/worker/podlog"
)

// shown remembers, in a small file, up to which record the output of each
// container has been written to stdout: a lifepod that goes on after a kill -9
// shows what comes after it. What was written in the very moment of the kill may
// be shown again, nothing is left out.
type shown struct {
	// immutable
	earlier map[string]podlog.Place // what the lifepods before have shown

	mu    sync.Mutex
	file  *os.File                // nil: nothing is remembered
	until map[string]podlog.Place // what was shown altogether
}

// mark is the place of a piece of output in its container's log.
type mark struct {
	of     *shown       // of its pod; nil: it need not be remembered
	stream string       // container/stdout, container/stderr; empty: not a container's output
	at     podlog.Place // of its newest record
}

func shownPath(records string, uid types.UID) string {
	return filepath.Join(records, string(uid)+".shown")
}

// openShown reads what another lifepod has remembered, and goes on with it. A
// file that can't be used means that everything is shown.
func openShown(path string) *shown {
	s := &shown{until: map[string]podlog.Place{}}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return s
	}
	s.file = file
	if data, err := io.ReadAll(file); err != nil || json.Unmarshal(data, &s.until) != nil || s.until == nil {
		s.until = map[string]podlog.Place{}
		_ = file.Truncate(0) // what is written next may be shorter
	}
	s.earlier = maps.Clone(s.until)
	return s
}

// close ends the use of the file; it stays.
func (s *shown) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = s.file.Close() // what it says is of no importance any more, or not for us
		s.file = nil
	}
}

// before says whether a lifepod before has shown a record already.
func (s *shown) before(container, stream string, at podlog.Place) bool {
	return at.File != 0 && at.Compare(s.earlier[key(container, stream)]) <= 0
}

func key(container, stream string) string { return fmt.Sprintf("%s/%s", container, stream) }

// noteShown remembers, for the pod of each, that these items were written.
func noteShown(items []item) {
	of := map[*shown][]item{}
	for _, it := range items {
		if it.mark.of != nil {
			of[it.mark.of] = append(of[it.mark.of], it)
		}
	}
	for s, theirs := range of {
		s.note(theirs)
	}
}

// note remembers that these items were written. The file only ever grows, so
// that it is replaced by writing over it.
func (s *shown) note(items []item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := false
	for _, it := range items {
		if it.mark.stream != "" && it.mark.at.File != 0 && it.mark.at != s.until[it.mark.stream] {
			s.until[it.mark.stream], changed = it.mark.at, true
		}
	}
	if !changed || s.file == nil {
		return
	}
	data, err := json.Marshal(s.until)
	if err == nil {
		_, err = s.file.WriteAt(data, 0)
	}
	if err != nil {
		_ = s.file.Truncate(0) // better everything again than too little
	}
}
