package doctor

import (
	"context"
	"errors"
	"testing"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

// Nothing needs crun: whatever is wrong with it is told, and is no reason to fail.
func TestCrun(t *testing.T) {
	answer := func(c bundle.InstalledCrun, err error) Options {
		return Options{Crun: func(context.Context) (bundle.InstalledCrun, error) { return c, err }}
	}
	for want, tc := range map[string]struct {
		system  fakeSystem
		options Options
	}{
		"crun: ok: not installed; lifepod makes containers with the runc that it carries": {options: answer(bundle.InstalledCrun{}, bundle.ErrNoCrun)},
		"crun: ok: not for --runtime crun: crun 1.8.1 is too old; lifepod makes containers with the runc that it carries": {
			options: answer(bundle.InstalledCrun{}, errors.New("crun 1.8.1 is too old")),
		},
		"crun: ok: version 1.21 can make containers here, for less CPU than runc takes: --runtime crun": {
			options: answer(bundle.InstalledCrun{Path: "/usr/bin/crun", Version: "1.21"}, nil),
		},
		"crun: not checked: only root can try": {system: fakeSystem{user: true}, options: answer(bundle.InstalledCrun{}, nil)},
	} {
		assert.Equal(t, want, verdict(checkCrun(t.Context(), hostWith(tc.system, nil), tc.options)), "verdict")
	}
}
