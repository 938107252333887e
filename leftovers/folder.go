package leftovers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

// podFolders are the folders below the root that have something per pod. The
// records come last: as long as there is one, the rest of its pod is found.
var podFolders = []struct {
	kind   Kind
	folder string // below the root
}{
	{PodFolder, string(rootfolder.Pods)},
	{LogFolder, string(rootfolder.Logs)},
	{AddressRecord, string(rootfolder.IPAM) + "/pods"},
	{PodRecord, string(rootfolder.Runs)},
}

func findInFolders(place Place) ([]Leftover, error) {
	if place.Root == "" {
		return nil, nil
	}
	var found []Leftover
	for _, of := range podFolders {
		folder := filepath.Join(place.Root, of.folder)
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return found, fmt.Errorf("find what pods left: %w", err)
		}
		for _, entry := range entries {
			found = append(found, Leftover{Kind: of.kind, Name: filepath.Join(folder, entry.Name())})
		}
	}
	return found, nil
}

// InUse tells whether a lifepod lives that holds the record of a pod: one that
// uses another runtime than the bundled one has no other lock of the root.
func InUse(place Place) (bool, error) {
	records, err := filepath.Glob(filepath.Join(rootfolder.Runs.In(place.Root), "*"))
	if err != nil {
		return false, err
	}
	for _, path := range records {
		held, err := isHeld(path)
		if held || err != nil {
			return held, err
		}
	}
	return false, nil
}

func isHeld(path string) (bool, error) {
	record, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the record of a pod: %w", err)
	}
	defer record.Close()
	err = unix.Flock(int(record.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
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

// keepForeign takes from the list what belongs to pods on another runtime than
// the place's: their containers may run on, and only with that runtime can they
// be swept up. Their records stay listed, and say so.
func keepForeign(place Place, found []Leftover) []Leftover {
	endpoints := map[string]string{}
	for i, leftover := range found {
		if leftover.Kind != PodRecord {
			continue
		}
		endpoint := endpointOf(leftover.Name)
		if endpoint == "" || place.Endpoint == "" || endpoint == place.Endpoint {
			continue
		}
		endpoints[strings.TrimSuffix(filepath.Base(leftover.Name), ".json")] = endpoint
		found[i].Kind, found[i].Detail = ForeignPod, endpoint
	}
	return slices.DeleteFunc(found, func(leftover Leftover) bool {
		if !slices.Contains([]Kind{Mount, PodFolder, LogFolder, PodRecord}, leftover.Kind) {
			return false
		}
		for uid := range endpoints {
			if strings.Contains(leftover.Name, uid) {
				return true
			}
		}
		return false
	})
}

// endpointOf is the runtime that the record of a pod names, "" for none.
func endpointOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var record struct {
		Endpoint string `json:"endpoint"`
	}
	if json.Unmarshal(text, &record) != nil {
		return "" // as after a power failure
	}
	return record.Endpoint
}
