package internal_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/localnet"
)

var errOther = errors.New("not permitted")

func TestWholeDump(t *testing.T) {
	t.Parallel()
	const attempts = 100
	for _, c := range []struct {
		name        string
		interrupted int   // lists that lack something
		after       error // of the next one
		err         error
		asked       int
	}{
		{name: "whole at once", asked: 1},
		{name: "interrupted twice", interrupted: 2, asked: 3},
		{name: "refused", after: errOther, err: errOther, asked: 1},
		{name: "interrupted, then refused", interrupted: 1, after: errOther, err: errOther, asked: 2},
		{name: "never whole", interrupted: attempts, err: netlink.ErrDumpInterrupted, asked: attempts},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			all, err := localnet.WholeDump(func() ([]int, error) {
				asked++
				if asked <= c.interrupted {
					return []int{1}, netlink.ErrDumpInterrupted
				}
				return []int{1, 2}, c.after
			})
			assert.True(t, errors.Is(err, c.err) && asked == c.asked, "after %d lists: %v, want %v after %d", asked, err, c.err, c.asked)
			want := []int{1, 2}
			assert.True(t, c.err != nil || slices.Equal(all, want), "the list is %v, want %v", all, want)
			assert.True(t, c.err == nil || all == nil, "a list beside an error: %v", all)
		})
	}
}
