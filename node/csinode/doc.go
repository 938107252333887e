// Package csinode has the API say what CSI drivers say of this node, in its CSINode and Node
// objects (A-CSI-2). One goroutine writes all of it, one driver after the other, however often
// it takes.
package csinode
