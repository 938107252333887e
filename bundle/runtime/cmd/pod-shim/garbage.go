package main

import (
	"runtime/debug"
	"time"
)

// How much garbage there may be before it is collected, in per cent of what is used. The shim's library allows
// 40 %: while a pod starts, each sixth of what its shim takes of the processors would go there. The library
// gives back to the kernel what is free every half minute.
const (
	startingGarbage = 200
	garbage         = 100
	starting        = 30 * time.Second
)

// spareCollector lets garbage lie while a pod starts.
func spareCollector() {
	debug.SetGCPercent(startingGarbage)
	time.AfterFunc(starting, func() { debug.SetGCPercent(garbage) })
}
