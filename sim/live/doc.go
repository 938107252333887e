// Package live carries out the effects of pods' machines on the pretended node of package sim, in
// real time, or in the virtual one that the machines' workers live in, too. A pod has one timer, and
// no goroutine.
//
// logs.go keeps what the containers of simulated pods write, in memory, for the API of their
// nodes. A pod whose containers write nothing takes nothing.
//
// serve.go is a container runtime without containers: it answers CRI as a real one
// does, at a socket, and what containers do is a scenario. Its timers are those of Go: a
// container that runs costs memory, and no goroutine.
//
// scaled.go is time that the pods of simulated nodes live in: it goes a number of times as fast as everybody's, or
// somebody moves it on by hand. Only pods live in it. What the API server is told, and when it is asked, is in real time:
// Real and Of convert.
package live
