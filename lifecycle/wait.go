package lifecycle

import "time"

// Wait is something that a pod, or one of its containers, waits for.
type Wait struct {
	Subject string `json:"subject"` // a container's name, or "pod"
	// For is what it waits for, as a word that doesn't change: see the WaitFor constants.
	For WaitFor `json:"for"`
	// On is what keeps it: another container, an image, a volume, a condition's type, a
	// hook's or a probe's name; may be empty.
	On string `json:"on,omitzero"`
	// Since is when the wait began; zero: not known.
	Since time.Time `json:"since,omitzero"`
	// Until is when it goes on, or tries again, at the latest; zero: nobody knows.
	Until time.Time `json:"until,omitzero"`
	// Because is the failure or the decision behind it, in the words of the status and the
	// story; may be empty.
	Because string `json:"because,omitzero"`
	Rule    string `json:"rule,omitzero"`
}

// WaitFor is a kind of wait.
type WaitFor string
