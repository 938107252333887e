package main

import "github.com/lifepod/lifepod/doctor"

// doctorHost is what "lifepod doctor" needs to know of the flags.
func (g *global) doctorHost() doctorHost {
	return doctorHost{
		Options: func() (doctor.Options, error) { return doctor.Options{Root: g.root}, nil },
	}
}
