package publish

import "maps"

// notes are the annotations of a pod's object that are the node's.
type notes struct {
	all    map[string]string // replaced, never changed
	unsent bool              // the next status has to tell of them
}

// Annotate says which annotations of the pod's object are the node's (B-GRP-3). They are
// written with the next status that is set, which does not wait for what follows, and with
// all later ones; nothing is written for them alone. The API server lets a node write them
// with the status, and not without (B-GRP-14). A static pod has none: its mirror pod has
// the annotations of its manifest.
func (w *Writer) Annotate(pod Ref, annotations map[string]string) {
	if pod.Static != "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entry(pod)
	if maps.Equal(e.sent.notes.all, annotations) {
		return
	}
	e.sent.notes = notes{all: maps.Clone(annotations), unsent: true}
	e.untaken = nil // the API server has not been told of these
}

// missing are the annotations that an object lacks, or has otherwise.
func missing(have, want map[string]string) map[string]string {
	var lacks map[string]string
	for key, value := range want {
		if is, found := have[key]; found && is == value {
			continue
		}
		if lacks == nil {
			lacks = map[string]string{}
		}
		lacks[key] = value
	}
	return lacks
}
