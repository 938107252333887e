package localdriver

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ID is the ID of a volume or a snapshot, of its node and what it is called there. Who has
// the ID only, as DeleteVolume, finds the node by it (NodeOf).
func ID(node, local string) string { return node + ":" + local }

// NodeOf is the node that the ID of a volume or a snapshot names. An ID that names none is of
// nothing that this driver has made.
func NodeOf(id string) (node string, err error) {
	node, local, found := strings.Cut(id, ":")
	if !found || node == "" || local == "" {
		return "", fmt.Errorf("%q is no ID of %s: NODE:ID", id, Name)
	}
	return node, nil
}

// id is ID for this node; "" is that of nothing.
func (d *Driver) id(local string) string {
	if local == "" {
		return ""
	}
	return ID(d.config.Node, local)
}

// local is what a volume or a snapshot of this node is called here. The error has code
// NotFound if the ID is of another node, or of none.
func (d *Driver) local(kind, id string) (string, error) {
	node, err := NodeOf(id)
	switch {
	case err != nil:
		return "", status.Errorf(codes.NotFound, "there is no %s %q: %v", kind, id, err)
	case node != d.config.Node:
		return "", status.Errorf(codes.NotFound, "%s %q is on node %q; this is node %q", kind, id, node, d.config.Node)
	}
	return strings.TrimPrefix(id, node+":"), nil
}

// given is local for an argument that may be missing; then so is what is called so.
func (d *Driver) given(kind, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	return d.local(kind, id)
}

// volume is local for a volume that has to be named.
func (d *Driver) volume(id string) (string, error) {
	if err := wanted("volume_id", id); err != nil {
		return "", err
	}
	return d.local("volume", id)
}
