// Package bridge is lifepod's CNI plugin for the pods of one machine: bridge, cable,
// address, routes and host ports in one program, where the CNI project's plugins are a
// chain of three: bridge, an IPAM plugin that it executes, and portmap. What a pod gets
// is the same; pods of that chain are checked and deleted by this plugin.
//
// # The configuration
//
//	{
//	  "type": "lifepod-bridge",
//	  "bridge": "lifepod0",
//	  "hostPorts": "nftables",
//	  "capabilities": {"portMappings": true},
//	  "ipam": { … }
//	}
//
// The section ipam is that of package ipam, whose store this plugin uses. The bridge
// has the gateway's address, and pods reach each other and themselves by it. With
// hostPorts other than nftables, the plugin portmap is executed for those pods that
// have host ports, with that backend, or the one that it finds.
//
// # ADD
//
// The address is reserved first, in the store. Then come the bridge, unless it is
// there, the cable (a veth pair with one end in the pod), and the host ports. What fails
// takes back what was made. A plugin that is killed leaves that to the DEL which a
// runtime owes to a failed ADD.
//
// # DEL
//
// A veth pair takes the kernel 15 to 30 ms to remove, and the namespace of a pod, which
// its runtime removes right after DEL, takes it along. So DEL does not remove it. It
// deletes the rules of the host ports (package hostports), unplugs the cable from the bridge, and gives the
// address back last: what the address is then used for, the old pod can't reach or
// disturb. Each step can be done again, so a DEL that was killed is simply called again.
package bridge
