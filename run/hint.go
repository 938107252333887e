package run

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
)

// command is a command line of lifepod for the same state folder and runtime.
func (o Options) command(words string) string {
	line := bundle.Command(o.Root, words)
	if o.RuntimeEndpoint != "" {
		line += " --runtime-endpoint " + o.RuntimeEndpoint
	}
	return line
}

// hintFor is what the user can do about a container that waits, empty if nothing is
// known.
func (o Options) hintFor(w *v1.ContainerStateWaiting) string {
	if w == nil || w.Reason != "ErrImageNeverPull" {
		return ""
	}
	return fmt.Sprintf("load the image with %q, or have it pulled: imagePullPolicy: IfNotPresent", o.command("image load FILE"))
}

// hint tells, once for each container, what to do about what it waits for.
func (p *printer) hint(status *v1.PodStatus) {
	all := slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses)
	for i := range all {
		c := &all[i]
		text := p.options.hintFor(c.State.Waiting)
		if text == "" {
			delete(p.hinted, c.Name)
			continue
		}
		if !p.hinted[c.Name] {
			p.hinted[c.Name] = true
			p.warn(c.Name + ": " + text)
		}
	}
}
