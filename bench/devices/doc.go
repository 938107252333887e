// Command devices measures the restart in place of a training worker with two devices, on
// lifepod agent and on the kubelet, which take turns as in bench/agent. Time begins when main is killed,
// and ends when set-up, sidecar and main have run again (KEP-5532). The devices are those of
//
//	device plugin   upstream's sample device plugin
//	resource claim  dra-example-driver, a claim of a template
//
// and the floor are the bare CRI calls of the same restart, with two devices that the runtime is
// told of by name (CDI). lifepod is to take at most 1.25 times as long.
//
// What the killed process had of devices the next one must have: the benchmark compares what
// their drivers have put into both, and fails if it is not the same.
package main
