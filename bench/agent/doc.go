// Command agent measures lifepod agent against the kubelet, both as nodes of a real
// control plane, on one containerd and one machine in one run. They take turns in
// blocks, with the bare CRI calls that the work needs (the floor) before each pair,
// so that the ratios hold on a noisy machine, too. Only one of them runs at a time:
// each would end the other's pods.
//
//	create         the request → the pod is Ready
//	restart        its process is killed → the next one runs
//	delete         the request → the pod is gone from the API
//	restart all    main is killed → set-up, sidecar and main have run anew (KEP-5532)
//	readiness flip a probe's new answer → the EndpointSlice of a Service says so
//	lease back     kill -9, and the process is started again → the node's Lease is renewed
//	status back    the same → its conditions are written anew
//	N at once      the first request → all are Ready, and → all are gone
//	CPU for each   the CPU that the node uses for each of N pods, created at once, until all their statuses and events are written
//	idle           memory and CPU while those N pods do nothing
//	writes         to the API server, by kind, for each pod: what the API server's audit log has of
//	               the node until 15 s after a step in the pods' lives, in the first turn
//
// All but the first moment is seen through a watch on the API server. The pods go
// to their node by spec.nodeName: the scheduler has no part in it. Times of a pod
// begin before the request is sent; between two of them is a pause of random
// length, because the kubelet looks at its containers once a second.
//
// What the figures are to reach is in targets (table.go).
package main
