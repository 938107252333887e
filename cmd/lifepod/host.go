package main

import (
	"context"

	"github.com/lifepod/lifepod/doctor"
	"github.com/lifepod/lifepod/leftovers"
)

// doctorHost is what "lifepod doctor" needs to know of the flags.
func (g *global) doctorHost() doctorHost {
	return doctorHost{
		Options: func() (doctor.Options, error) { return doctorOptions(g.root, g.endpoint) },
		Sweep: func(ctx context.Context) ([]leftovers.Leftover, error) {
			log, err := g.logger()
			if err != nil {
				return nil, err
			}
			return sweepRoot(ctx, g.root, log)
		},
	}
}
