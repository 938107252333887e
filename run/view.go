package run

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/why"
)

// View is what is known of a pod, and what its user looks at. New makes one.
type View struct {
	// immutable
	began    time.Time // +0s of what is shown
	colour   bool
	language sentence.Language

	// facts
	pod     journal.Pod
	now     journal.Now
	address string
	story   tail
	logs    map[string]*tail   // by container
	writers map[string]*writer // by container and stream
	because why.Explanation    // for the panel
	unknown string             // why there is none

	width, height int // of the terminal
	user          user
}

type user struct {
	panel    panel
	selected string // container
	scrolled int    // rows: up from the end of a log, down from the beginning of another panel
	asks     Action // what another press confirms
	notice   string // until the next key
}

// panel is what takes the place of the containers.
type panel string

const (
	overview  panel = ""
	logPanel  panel = "logs"
	whyPanel  panel = "why"
	helpPanel panel = "help"
)

// NewView shows a pod whose lifepod was started at that time.
func NewView(pod *v1.Pod, began time.Time, colour bool) *View {
	v := &View{began: began, colour: colour, pod: journal.PodOf(pod), logs: map[string]*tail{}, writers: map[string]*writer{}, width: 80, height: 24}
	if len(v.pod.Containers) > 0 { // the first that the pod is for
		i := max(slices.IndexFunc(v.pod.Containers, func(c journal.Container) bool { return c.Kind == "container" }), 0)
		v.user.selected = v.pod.Containers[i].Name
	}
	return v
}

// Resize takes the size of the terminal.
func (v *View) Resize(width, height int) { v.width, v.height = max(width, 1), max(height, 1) }

// Now takes how the pod is, and what it waits for. pod has containers that have been added.
func (v *View) Now(pod *v1.Pod, now journal.Now) { v.pod, v.now = journal.PodOf(pod), now }

// Address takes the pod's address.
func (v *View) Address(ip string) { v.address = ip }

func (v *View) Said(line string) { v.story.add(expand(plain.Line(line))) }

// Wrote takes a piece of what a container wrote to a stream.
func (v *View) Wrote(container, stream, text string) {
	key := container + "/" + stream
	if v.writers[key] == nil {
		v.writers[key] = &writer{}
	}
	if v.logs[container] == nil {
		v.logs[container] = &tail{}
	}
	for _, line := range v.writers[key].lines(text, v.colour) {
		v.logs[container].add(line)
		if v.user.panel == logPanel && v.user.scrolled > 0 && container == v.user.selected {
			v.user.scrolled += len(wrap(line, v.width, "")) // what is read stays where it is
		}
	}
}

// WantsWhy says that the user looks at why the pod is as it is: Explained keeps it up to date.
func (v *View) WantsWhy() bool { return v.user.panel == whyPanel }

// Explained takes why the pod is as it is, or why that is not known.
func (v *View) Explained(e why.Explanation, err error) {
	v.because, v.unknown = e, ""
	if err != nil {
		v.unknown = plain.Line(err.Error())
	}
}

// names are the containers, in the order of the spec.
func (v *View) names() (names []string) {
	for _, c := range v.pod.Containers {
		names = append(names, c.Name)
	}
	return names
}

// ending says that the pod does not start anything any more.
func (v *View) ending() bool { return v.now.Stage != "" && v.now.Stage != "syncing" }
