package doctor

import (
	"context"
	"fmt"
)

func checkRuntime(ctx context.Context, options Options) Result {
	const name = "runtime"
	version, err := options.Runtime(ctx)
	switch {
	case err != nil:
		return fail(name, err.Error(), "start it, or leave --runtime-endpoint out to use the runtime that lifepod carries")
	case version == "":
		return ok(name, "not running; lifepod starts it when needed")
	default:
		return ok(name, version+" answers")
	}
}

// shownLeftovers keeps the advice short.
const shownLeftovers = 10

func checkLeftovers(h Host, options Options) Result {
	const name = "leftovers"
	if !h.IsRoot() {
		return notChecked(name, "it takes root to look")
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
	found, err := options.Leftovers()
	if err != nil {
		return notChecked(name, err.Error())
	}
	if len(found) == 0 {
		return ok(name, "none below "+options.Root)
	}
	var advice []string
	for i, leftover := range found {
		if i == shownLeftovers {
			advice = append(advice, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		advice = append(advice, leftover.String())
	}
	if options.SweepCommand != "" {
		advice = append(advice, "sweep them up: "+options.SweepCommand)
	}
	return warn(name, fmt.Sprintf("%d of a lifepod that was killed, or kept its pod (--keep)", len(found)), advice...)
}
