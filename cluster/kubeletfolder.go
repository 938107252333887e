package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// kubeletFolder is where the manifests of drivers have the kubelet's folder: the sockets of
// device plugins, and the volumes that a CSI driver mounts from within its container.
const kubeletFolder = "/var/lib/kubelet"

// nodeFolder is the folder of the node's pods under the name that drivers know it by. The
// cluster of the default state folder has kubeletFolder as a link to it, unless something
// else is there; others have a folder that drivers must be told of.
func (l *layout) nodeFolder() (string, error) {
	if l.Root != bundle.DefaultRoot {
		return l.nodeRoot(), nil
	}
	return linked(kubeletFolder, l.nodeRoot())
}

// linked makes a folder and a link to it, and gives back which of both to use: the folder, if
// something else has the link's name.
func linked(link, folder string) (string, error) {
	if err := rootfolder.Make(folder); err != nil { // a link to nothing is refused
		return "", err
	}
	err := os.Symlink(folder, link)
	switch {
	case err == nil:
		return link, nil
	case !errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("link for drivers: %w", err)
	}
	if target, err := os.Readlink(link); err != nil || target != folder {
		return folder, nil //nolint:nilerr // it is no link
	}
	return link, nil
}

// unlink removes the link that linked has made, and nothing else.
func unlink(link, folder string) error {
	if target, err := os.Readlink(link); err != nil || target != folder {
		return nil //nolint:nilerr // it is not there, or no link
	}
	return os.Remove(link)
}
