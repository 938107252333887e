package leftovers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
)

// findPodFolders lists what lies in the root's folder "pods", a folder per pod UID.
func findPodFolders(place Place) ([]Leftover, error) {
	if place.Root == "" {
		return nil, nil
	}
	folder := filepath.Join(place.Root, "pods")
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find pod folders: %w", err)
	}
	var found []Leftover
	for _, entry := range entries {
		found = append(found, Leftover{Kind: PodFolder, Name: filepath.Join(folder, entry.Name())})
	}
	return found, nil
}

// findRunFolder finds the folder of the sockets, which a lifepod that ends in
// good order removes.
func findRunFolder(place Place) ([]Leftover, error) {
	if place.RunDir == "" || place.RunDir == "/" {
		return nil, nil
	}
	_, err := os.Lstat(place.RunDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the run folder: %w", err)
	}
	return []Leftover{{Kind: RunFolder, Name: place.RunDir}}, nil
}

// sweepFolder removes a folder, but not while anything is mounted in it: that
// could be a folder of the host with the user's data.
func sweepFolder(path string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(path))
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%s is still mounted in it", mounts[0].Mountpoint)
	}
	return os.RemoveAll(path)
}
