// Package sim takes a pod through its life in virtual time: the machine of package lifecycle,
// which also leads pods on real containers, with a runtime that is only pretended. What
// containers do and what befalls the node is a scenario.
//
// One queue orders all that happens. There is no goroutine, no clock and no order of a map in
// it: the same pod, scenario and seed give the same life, byte for byte, in as little time as
// the machine needs for its steps.
//
// compare.go says what differs between two simulated lives, as of a manifest before and
// after a change. It is pure.
//
// record.go makes the scenario of a life that really happened, from what the journal has
// of the pod: simulated, it has the same milestones. It is pure.
//
// What the machine was told counts, and when: an exit is as long after the start as the machine
// learned of it. Calls take as long as they usually did in that life, and fail as they did.
package sim
