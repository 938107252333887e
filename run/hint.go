package run

import (
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

// hint tells, once for each container, what to do about what it waits for.
func (p *printer) hint(status *v1.PodStatus) {
	all := slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses)
	for i := range all {
		c := &all[i]
		if w := c.State.Waiting; w == nil || w.Reason != "ErrImageNeverPull" {
			delete(p.hinted, c.Name)
			continue
		}
		if !p.hinted[c.Name] {
			p.hinted[c.Name] = true
			p.warn("%s: load the image with %q, or have it pulled: imagePullPolicy: IfNotPresent", c.Name, p.options.command("image load FILE"))
		}
	}
}
