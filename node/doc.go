// Package node is lifepod in the kubelet's place: newParts puts the parts of a node together.
// Package pods runs its pods.
//
// Each folder is one part: source (where pods come from), publish (statuses, events and mirror
// pods in the API), register (the Node object and its Lease), join (certificates), config
// (KubeletConfiguration), objects (ConfigMaps, Secrets, tokens, claims), devices and csi (what
// plugins give to pods), groups (pods that restart as one), space (shortage of disk and memory),
// server (the API on port 10250), localapi (APIs at sockets), shutdown and stats (figures).
//
// Package lifecycle alone decides how a pod lives.
package node
