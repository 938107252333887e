// Package sim takes a pod through its life in virtual time: the machine of package lifecycle,
// which also leads pods on real containers, with a runtime that is only pretended. What
// containers do and what befalls the node is a scenario.
//
// One queue orders all that happens. There is no goroutine, no clock and no order of a map in
// it: the same pod, scenario and seed give the same life, byte for byte, in as little time as
// the machine needs for its steps.
package sim
