// Package netidentity is what a pod's processes see of the network: hostname,
// /etc/hosts, resolv.conf and port mappings (contract A-NET, A-CRI-3).
//
// The functions compute; only reading the host's resolv.conf and writing the
// hosts file touch the disk.
//
// ports.go also gives a gone pod's network address back to lifepod's IPAM
// plugin, whose store keeps it for the pod for as long as the pod exists.
package netidentity
