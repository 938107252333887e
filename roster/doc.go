// Package roster decides which pods live on a node, and which has to go.
//
// Like package lifecycle, which decides how one pod lives, it is a pure machine: facts
// go in, each with its time (a source wants a pod, the runtime had one at the start, a
// pod has ended), and effects come out (begin a life, resume one, ask for its end).
// Nothing here waits, locks or reads a clock, so every behaviour can be played in a test.
//
// Each pod has one explicit position (see Position). Whatever fact comes, the machine
// files it and then looks at what the pods that it concerns can do now. Admission,
// preemption, pods of the same name, blocked UIDs, what an agent before has left, the
// wait after a reboot, the order at a shutdown of the machine, and the order of beginnings are decided here and nowhere else.
//
// A node may have thousands of pods, and a step concerns one of them. So the sums over all pods
// and the list of waiting ones are kept up to date: each change of a pod goes through with.
//
// Rules: A-SYNC-1, A-ADM, A-ACT-15, B-PRE, B-RST, B-SHD, B-STA, B-WRK-15 to B-WRK-24.
package roster
