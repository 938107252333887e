// Package netidentity is what a pod's processes see of the network: hostname,
// /etc/hosts, resolv.conf and port mappings (contract A-NET, A-CRI-3).
//
// The functions compute; only reading the host's resolv.conf and writing the
// hosts file touch the disk.
package netidentity
