// Package criconfig builds what the runtime is asked for, the sandbox and container configs of CRI, from a
// pod and values computed elsewhere (contract A-CRI, A-SEC). What depends on the host comes in Node, which
// Host reads once; building does no I/O but reading the file of a fileKeyRef. An error is what Kubernetes
// shows as the message of a container waiting with reason CreateContainerConfigError.
//
// build.go resolves what a container is started with: its variables, command and args (contract A-ENV).
//
// security.go says what SELinux is on this machine, and which label the files of a container have.
//
// block.go gives each pod with hostUsers: false a block of the machine's user and group IDs of its own
// (contract A-SEC-6, KEP-127). The block is recorded in the pod's folder and lives as long as that: whoever
// carries the pod on finds the same IDs, and with the folder the block is free again. Processes that share a
// pods folder agree by a lock on it.
//
// dns.go, hosts.go and ports.go are what a pod's processes see of the network: resolv.conf, hostname,
// /etc/hosts and port mappings (contract A-NET, A-CRI-3). Only reading the host's resolv.conf and writing
// the hosts file touch the disk. ports.go also gives a gone pod's network address back to lifepod's IPAM
// plugin, whose store keeps it for the pod for as long as the pod exists.
package criconfig
