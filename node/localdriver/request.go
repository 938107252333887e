package localdriver

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// smallest is the least that makes a useful ext4 with a journal.
	smallest = 16 << 20
	// largest is more than a file may have on any file system that the kernel makes images on.
	largest = 1 << 60
	// usual is the size of a volume whose request names none.
	usual = 1 << 30
	// unit is what sizes are multiples of.
	unit = 4096
)

// sizeOf is the size that a request wants; least is how much its content needs.
func sizeOf(limits *csi.CapacityRange, least int64) (int64, error) {
	required, limit := limits.GetRequiredBytes(), limits.GetLimitBytes()
	if required < 0 || limit < 0 || limit > 0 && limit < required {
		return 0, status.Errorf(codes.InvalidArgument, "capacity_range: required_bytes %d and limit_bytes %d are no range", required, limit)
	}
	bytes := max(required, least, smallest)
	if required == 0 && least == 0 && (limit == 0 || limit > usual) {
		bytes = usual
	}
	if bytes > largest { // before it is rounded up, which would make it negative
		return 0, status.Errorf(codes.OutOfRange, "the volume needs %d bytes, and can have %d at most", bytes, int64(largest))
	}
	bytes = (bytes + unit - 1) / unit * unit
	if limit > 0 && bytes > limit {
		return 0, status.Errorf(codes.OutOfRange, "limit_bytes is %d, but the volume needs %d", limit, bytes)
	}
	return bytes, nil
}

// fits says whether a volume of a size is what a request wants.
func fits(bytes int64, limits *csi.CapacityRange) bool {
	return bytes >= limits.GetRequiredBytes() && (limits.GetLimitBytes() == 0 || bytes <= limits.GetLimitBytes())
}

// modeOf says whether volume capabilities want a block device; all have to be possible.
func modeOf(all []*csi.VolumeCapability) (block bool, err error) {
	if len(all) == 0 {
		return false, status.Error(codes.InvalidArgument, "volume_capabilities are missing")
	}
	for i, c := range all {
		this, err := capabilityOf(c)
		switch {
		case err != nil:
			return false, err
		case i > 0 && this != block:
			return false, status.Error(codes.InvalidArgument, "volume_capabilities want a block device and a file system, of which a volume is one")
		}
		block = this
	}
	return block, nil
}

// capabilityOf is modeOf for one.
func capabilityOf(c *csi.VolumeCapability) (block bool, err error) {
	switch mode := c.GetAccessMode().GetMode(); mode {
	case csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER, csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER:
	default:
		return false, status.Errorf(codes.InvalidArgument, "access mode %s is not supported: a local volume is on one node; use ReadWriteOnce (for any number of pods of that node) or ReadWriteOncePod", mode)
	}
	switch {
	case c.GetBlock() != nil:
		return true, nil
	case c.GetMount() == nil:
		return false, status.Error(codes.InvalidArgument, "a volume capability has neither block nor mount")
	}
	if fs := c.GetMount().GetFsType(); fs != "" && fs != "ext4" {
		return false, status.Errorf(codes.InvalidArgument, "file system %q is not supported, only ext4", fs)
	}
	return false, nil
}

// known refuses parameters of a StorageClass or VolumeSnapshotClass, of which the driver has
// none. What the provisioner adds about claims is not the class's.
func known(parameters map[string]string) error {
	for name := range parameters {
		if !strings.HasPrefix(name, "csi.storage.k8s.io/") {
			return status.Errorf(codes.InvalidArgument, "the class has the parameter %q: %s has none", name, Name)
		}
	}
	return nil
}

// topology is that of every volume here.
func (d *Driver) topology() *csi.Topology {
	return &csi.Topology{Segments: map[string]string{TopologyKey: d.config.Node}}
}

// here says whether one of topologies, of which there may be none, is this node's.
func (d *Driver) here(wanted []*csi.Topology) bool {
	for _, t := range wanted {
		if node, named := t.GetSegments()[TopologyKey]; !named || node == d.config.Node {
			return true
		}
	}
	return len(wanted) == 0
}

// page is a part of a list, by the token of the one before, where it begins; that may be behind the end by now.
func page[T any](all []T, token string, most int32) (part []T, next string, err error) {
	from, err := strconv.Atoi(cmp.Or(token, "0"))
	if err != nil || from < 0 {
		return nil, "", status.Errorf(codes.Aborted, "starting_token %q is none of this driver's", token)
	}
	part = all[min(from, len(all)):]
	if most > 0 && int(most) < len(part) {
		part, next = part[:most], strconv.Itoa(from+int(most))
	}
	return part, next, nil
}

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
