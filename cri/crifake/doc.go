// Package crifake is a container runtime in memory, for tests and simulations: a client of the
// runtime and image services that keeps sandboxes, containers and their events
// without a process behind them. Its calls take as long as those of a real
// runtime, so it belongs into a bubble of testing/synctest, where that costs
// nothing.
//
// What containers do is said by programs (Runtime.Program), what goes wrong by
// faults (Runtime.Fault); both are short texts, so that a test reads as a story.
// Or scenarios of lifepod sim say all of it (NewPlay), as package sim/live has it: then the
// runtime also serves in real time, with thousands of pods. A container that runs
// has a timer at most, and no goroutine.
//
// As with a real runtime, what a call does happens in its middle: events arrive
// before the answer of the call that caused them, and a call that is given up
// late has been carried out nevertheless.
//
// Transcripts, random walks and package sim live on another pretended runtime, lifecycle.PretendedRuntime, which is pure, has
// one pod, and does at once what effects ask for. This one serves CRI: its calls come from goroutines, hold names while they
// are at work, lose their answers and are given up, and most of it is what the other one has no words for, such as labels,
// filters, streams of events, logs and files.
//
// check_test.go says what lifepod relies on in a container runtime beyond the letter of
// CRI. Real runtimes and the fake pass the same checks, so that what is tested on the fake
// holds.
package crifake
