package doctor

import (
	"context"
	"errors"

	"github.com/lifepod/lifepod/bundle"
)

// checkCrun tells whether containers could be made with crun, and what that would bring.
// Nothing needs it.
func checkCrun(ctx context.Context, h Host, options Options) Result {
	const name = "crun"
	if !h.IsRoot() {
		return notChecked(name, needsRoot)
	}
	found, err := options.Crun(ctx)
	switch {
	case errors.Is(err, bundle.ErrNoCrun):
		return ok(name, "not installed; lifepod makes containers with the runc that it carries")
	case err != nil:
		return ok(name, "not for --runtime crun: "+err.Error()+"; lifepod makes containers with the runc that it carries")
	}
	return ok(name, "version "+found.Version+" can make containers here, for less CPU than runc takes: --runtime crun")
}
