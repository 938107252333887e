// Package routes lets the pods of a node reach those of the others: a route of this
// machine to each other Node's podCIDRs, by way of its InternalIP. Pods keep their own
// addresses on the way, and nothing is packed into anything; it needs nodes that see
// each other directly, in one network. Nodes behind a router are told of once: they
// need a CNI that tunnels.
//
// Routes follow the Nodes, and come back when a link does. They stay when Run ends,
// because the pods run on; Remove removes them. They are told from other routes by
// their protocol number and the cluster's range of pod addresses.
package routes
