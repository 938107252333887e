// Package checkpoint reads and writes which container has which devices, in the file of the kubelet and in its form, so that
// either can take the node over from the other (A-DEV-10).
//
// The file's checksum is one over a dump that has the names of Go types in it: those of the kubelet's package, which is why
// types and fields here are named as they are there.
package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"

	"k8s.io/utils/dump"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// File is the checkpoint's name in the folder of device plugins.
const File = "kubelet_internal_checkpoint"

// DevicesPerNUMA are the IDs of devices by NUMA node; -1 has those that are near to none.
type DevicesPerNUMA map[int64][]string

// PodDevicesEntry is what a container has of one resource.
type PodDevicesEntry struct {
	PodUID        string
	ContainerName string
	ResourceName  string
	DeviceIDs     DevicesPerNUMA
	// AllocResp is the plugin's ContainerAllocateResponse, as protobuf.
	AllocResp []byte
}

// checkpointData is what a checkpoint says, and its checksum is of.
type checkpointData struct {
	PodDeviceEntries []PodDevicesEntry
	// RegisteredDevices are the healthy devices of each resource that a plugin has registered.
	RegisteredDevices map[string][]string
}

// Content is the same, whose name is no part of the checksum.
type Content = checkpointData

// file is the whole.
type file struct {
	Data     checkpointData
	Checksum uint64
}

// Read reads a checkpoint. One that is not there is an error for which os.IsNotExist holds.
func Read(path string) (Content, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Content{}, err
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return Content{}, fmt.Errorf("%s: %w", path, err)
	}
	if f.Checksum != checksum(f.Data) {
		return Content{}, fmt.Errorf("%s: %w", path, errDamaged)
	}
	return f.Data, nil
}

var errDamaged = errors.New("the checksum is not that of the content")

// Write replaces a checkpoint.
func Write(path string, data Content) error {
	return wholefile.WriteJSON(path, file{Data: data, Checksum: checksum(data)})
}

func checksum(data checkpointData) uint64 {
	hash := fnv.New32a()
	fmt.Fprintf(hash, "%v", dump.ForHash(data))
	return uint64(hash.Sum32())
}
