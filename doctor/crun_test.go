package doctor

import (
	"context"
	"errors"
	"testing"

	"github.com/lifepod/lifepod/bundle/crun"
)

// Nothing needs crun: whatever is wrong with it is told, and is no reason to fail.
func TestCrun(t *testing.T) {
	answer := func(c crun.Crun, err error) Options {
		return Options{Crun: func(context.Context) (crun.Crun, error) { return c, err }}
	}
	for want, tc := range map[string]struct {
		system  fakeSystem
		options Options
	}{
		"crun: ok: not installed; lifepod makes containers with the runc that it carries": {options: answer(crun.Crun{}, crun.ErrNotInstalled)},
		"crun: ok: not for --runtime crun: crun 1.8.1 is too old; lifepod makes containers with the runc that it carries": {
			options: answer(crun.Crun{}, errors.New("crun 1.8.1 is too old")),
		},
		"crun: ok: version 1.21 can make containers here, for less CPU than runc takes: --runtime crun": {
			options: answer(crun.Crun{Path: "/usr/bin/crun", Version: "1.21"}, nil),
		},
		"crun: not checked: only root can try": {system: fakeSystem{user: true}, options: answer(crun.Crun{}, nil)},
	} {
		if got := verdict(checkCrun(t.Context(), hostWith(tc.system, nil), tc.options)); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
