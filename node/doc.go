// Package node is lifepod in the kubelet's place: it puts the parts of a node together,
// of which package pods has its pods live. What a node consists of is read in newParts.
//
// Its folders have a part each: source (where desired pods come from), podstatus
// (what the API server is told of them), record (Kubernetes events), register
// (the Node object, its Lease and heartbeats), join (certificates and how to get
// them), config (KubeletConfiguration), objects (ConfigMaps, Secrets, tokens,
// claims from the API), pullsecret (credentials of images), server (the API on
// port 10250) and stats (what it measures).
//
// Nothing of a pod's life is decided here: package lifecycle does.
package node
