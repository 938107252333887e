// Package register makes a machine a node of a cluster: it creates the Node
// object or takes over the one that is there, keeps its status true, and renews
// the Lease in kube-node-lease by which the cluster knows that the node lives
// (contract B-LOST-1).
//
// What is reported is what the kubelet of Kubernetes 1.37 reports, in its words,
// because controllers, the scheduler and kubeadm read them. What differs is when:
//
//   - Status is compared with the API's object when something has happened (the
//     runtime was lost or is back, images came or went, the object was changed
//     by somebody else), and at the kubelet's interval only for what nobody
//     announces: the runtime's network, the machine's addresses.
//   - Ready is about the machine and its runtime, never about one pod: there is
//     no relist whose delay could take the node down.
//   - While the API server is away, one request at a time asks for it, at most a
//     second apart if nobody answers; status and Lease follow at once when it is back.
//
// Each goroutine of Run is one file: the reporter (reporter.go) is the only one
// that writes the Node, the follower (follow.go) watches this one object, the
// lease is component-helpers' controller (lease.go).
//
// Other parts of the node supply what they know through Config.Senses: pressure
// conditions, extended resources, volumesInUse. At registration, extended resources of a
// previous kubelet's device plugins are set to zero. volumesAttached is not the node's.
package register
