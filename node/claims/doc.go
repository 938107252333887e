// Package claims has drivers prepare the devices of pods' ResourceClaims on this node, and
// take them back after the last pod that uses them (A-DRA). What is prepared is kept in the
// kubelet's file and form, so that a node can go from the kubelet to lifepod and back.
//
// Calls for one claim come one after the other, whichever pods they are for. A driver that
// hangs holds up the pods that use it, and no others.
package claims
