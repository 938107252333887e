// Package ipam is lifepod's sticky CNI IPAM plugin: an address belongs to a
// pod, not to a sandbox. A pod that gets a new sandbox (the node rebooted, the
// sandbox died, every container is restarted) keeps the address it had. Addresses are
// IPv4.
//
// # Who owns an address
//
// The owner is the pod UID that the runtime passes as K8S_POD_UID in CNI_ARGS.
// Without one the owner is the container ID. DEL ends the attachment of a
// sandbox; the address of a pod stays reserved, because DEL says only that a
// sandbox stopped, never that the pod is gone. An address that belongs to a
// container ID is released by its DEL: that ID never comes back.
//
// # When a pod is gone
//
// Only who runs the pods knows, and tells the store in one of two ways:
//
//   - It takes the exclusive flock(2) on DIR/lock and removes DIR/pods/UID.
//     That one unlink is the whole release.
//   - It says nothing (it was killed, the pod was forced away): when the range
//     is exhausted, ADD takes the address of the pod that has been without a
//     sandbox for the longest time. An address with a live attachment is never
//     taken; attachments of an earlier boot of the machine are not live.
//
// # The store
//
//	DIR/lock               flock(2), exclusive, around every operation
//	DIR/pods/OWNER         JSON, a [record]: the addresses and attachments of a
//	                       pod UID, or of "container:ID"
//	DIR/addresses/ADDRESS  symbolic link to ../pods/OWNER
//	DIR/last.4             the address handed out last, so that a freed one rests
//
// An owner holds an address exactly when its record lists the address and the
// link of the address points back at the record. A link can point at one owner
// only, so no order of crashes, lost writes or half-restored backups makes two
// owners of one address. A link that dangles, or whose record does not list
// the address, is free and is replaced when its turn comes.
//
// Reserving writes the link, then the record (aside, then renamed); releasing
// removes the record, then the links. A kill between any two of these steps
// leaves the address free or held, and the next operation needs no repair.
//
// Nothing is synced: a sync waits for whatever else the disk has to write, such
// as the image that is being pulled for the same pod. A power failure can
// therefore lose, or empty, what was written in the last seconds. No sandbox
// outlives it, and the rule above still gives no address to two owners; a pod
// whose record is lost gets another address. A record that can't be read holds
// every address that is linked to it until its pod is added again, which
// rebuilds it, or is released.
//
// An ADD for a known pod reads one file and writes one; for a new pod it looks
// at one link more for every address in a row that is taken. No operation on
// the way of a sandbox lists a folder.
package ipam
