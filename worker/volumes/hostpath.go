package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// checkHostPath checks that what is at the path has the type asked for, and
// makes it where the type says so. Without a type nothing is checked.
func checkHostPath(source *v1.HostPathVolumeSource) error {
	kind := ptr.Deref(source.Type, v1.HostPathUnset)
	if kind == v1.HostPathUnset {
		return nil
	}
	info, err := os.Stat(source.Path)
	if errors.Is(err, fs.ErrNotExist) {
		switch kind {
		case v1.HostPathDirectoryOrCreate:
			return os.MkdirAll(source.Path, 0o755)
		case v1.HostPathFileOrCreate:
			return createFile(source.Path)
		}
	}
	want, known := hostPathTypes[kind]
	if !known {
		return fmt.Errorf("%s is an invalid volume type", kind)
	}
	if err != nil || !want.matches(info.Mode()) {
		return fmt.Errorf("hostPath type check failed: %s is not %s", source.Path, want.name)
	}
	return nil
}

func createFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}

type hostPathType struct {
	name    string
	matches func(fs.FileMode) bool
}

var hostPathTypes = map[v1.HostPathType]hostPathType{
	v1.HostPathDirectoryOrCreate: {"a directory", fs.FileMode.IsDir},
	v1.HostPathDirectory:         {"a directory", fs.FileMode.IsDir},
	v1.HostPathFileOrCreate:      {"a file", fs.FileMode.IsRegular},
	v1.HostPathFile:              {"a file", fs.FileMode.IsRegular},
	v1.HostPathSocket:            {"a socket file", func(m fs.FileMode) bool { return m.Type() == fs.ModeSocket }},
	v1.HostPathCharDev:           {"a character device", func(m fs.FileMode) bool { return m.Type() == fs.ModeDevice|fs.ModeCharDevice }},
	v1.HostPathBlockDev:          {"a block device", func(m fs.FileMode) bool { return m.Type() == fs.ModeDevice }},
}
