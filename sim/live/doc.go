// Package live carries out the effects of pods' machines on the pretended node of package sim, in
// real time, or in the virtual one that the machines' workers live in, too. A pod has one timer, and
// no goroutine.
//
// logs.go keeps what the containers of simulated pods write, in memory, for the API of their
// nodes. A pod whose containers write nothing takes nothing.
package live
