package doctor

import (
	"context"
	"fmt"
	"slices"

	"github.com/lifepod/lifepod/leftovers"
	"github.com/lifepod/lifepod/unattended"
)

func checkRuntime(ctx context.Context, options Options) Result {
	const name = "runtime"
	version, err := options.Runtime(ctx)
	switch {
	case err != nil:
		return fail(name, err.Error(), "start it, or leave --runtime-endpoint out to use the bundled runtime")
	case version == "":
		return ok(name, "not running; lifepod starts it when needed")
	default:
		return ok(name, version+" answers")
	}
}

func checkLeftovers(ctx context.Context, h Host, options Options) Result {
	const name = "leftovers"
	if !h.IsRoot() {
		return notChecked(name, "only root can look")
	}
	if options.InUse != nil {
		inUse, err := options.InUse()
		if err != nil {
			return notChecked(name, err.Error())
		}
		if inUse {
			return ok(name, "not looked for: a lifepod is using "+options.Root)
		}
	}
	found, err := options.Leftovers(ctx)
	if err != nil {
		return notChecked(name, err.Error())
	}
	if options.Unattended != nil {
		pods := options.Unattended()
		found = leftovers.Without(found, uids(pods), slices.ContainsFunc(pods, func(p unattended.Pod) bool { return p.Runs }))
	}
	if len(found) == 0 {
		return ok(name, "none below "+options.Root)
	}
	advice := summarize(found)
	if options.SweepCommand != "" {
		advice = append(advice, "remove them: "+options.SweepCommand)
	}
	return warn(name, fmt.Sprintf("%d of a lifepod that was killed, or of a pod that was kept (--keep)", len(found)), advice...)
}

// summarize has a line per kind, in the order of the list.
func summarize(found []leftovers.Leftover) []string {
	count := map[leftovers.Kind]int{}
	for _, leftover := range found {
		count[leftover.Kind]++
	}
	var lines []string
	for _, leftover := range found {
		switch n := count[leftover.Kind]; {
		case n == 1:
			lines = append(lines, leftover.String())
		case n > 1:
			lines = append(lines, fmt.Sprintf("%s and %d more of its kind", leftover, n-1))
		}
		delete(count, leftover.Kind)
	}
	return lines
}
