// Command bench measures lifepod against the runtime below it, on one containerd
// in one run: the bare CRI calls that the work needs (our floor) and lifepod take
// turns, so that the ratio holds on a noisy machine, too. The same calls on the runtime
// as upstream ships it (the stock floor) are beside them.
//
//	create    nothing → Ready                  RunPodSandbox, CreateContainer, StartContainer
//	restart   the process is killed → running  exit event, CreateContainer, StartContainer
//	delete    stop is asked for → gone         StopContainer, StopPodSandbox, RemovePodSandbox
//	restart all  main is killed → set-up, sidecar and main have run anew (KEP-5532)
//	50 at once   created, and deleted, all at the same time
//	readiness    a probe's answer → the status that says so
//	run       `lifepod run` of pods that only run true, as a whole process, also beside podman
//
// After the fifty at once, execs in a container, as probes make them, on both runtimes.
//
// Then `lifepod run -d` of pods that do nothing: memory and CPU.
//
// What the figures are to reach is in targets (table.go).
package main
