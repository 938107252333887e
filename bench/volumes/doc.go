// Command volumes measures what an agent adds to a CSI driver: how long after the answer of
// NodePublishVolume the pod's next runtime call begins, for lifepod agent, for the kubelet, and for
// bare calls (the floor). lifepod makes the sandbox beside the volume, and its containers next; the
// kubelet makes the sandbox next. If the runtime is still busy with the pod when the driver answers,
// the time counts from the runtime's answer.
//
//	one pod      a driver that takes 300 ms, so that a pod waits for nothing but its volume
//	N at once    a driver that answers at once, and as many pods
//
// A relay before the runtime sees the calls, the driver runs in this process: all moments are of one
// clock. How long the N pods took is measured, too, through the relay.
package main
