package doctor

import (
	"errors"
	"strings"
	"testing/fstest"
	"time"
)

// fakeSystem answers as told; its zero value is a root with nothing installed.
type fakeSystem struct {
	release    string
	user       bool
	programs   string
	fileSystem FileSystem
	now        time.Time
	overlay    error
	bridge     error
	nat        map[string]error
	listings   map[string]string
}

func (f fakeSystem) KernelRelease() string { return f.release }
func (f fakeSystem) IsRoot() bool          { return !f.user }
func (f fakeSystem) LookPath(program string) error {
	if strings.Contains(f.programs, program) {
		return nil
	}
	return errors.New("not found")
}
func (f fakeSystem) FileSystem(path string) (FileSystem, error) {
	if f.fileSystem.SizeBytes == 0 {
		return FileSystem{}, errors.New("no such file")
	}
	return f.fileSystem, nil
}
func (f fakeSystem) Now() time.Time          { return f.now }
func (f fakeSystem) TryOverlay(string) error { return f.overlay }
func (f fakeSystem) TryBridge() error        { return f.bridge }
func (f fakeSystem) Listing(program string, arguments ...string) (string, error) {
	text, there := f.listings[program+" "+strings.Join(arguments, " ")]
	if !there {
		return "", errors.New("not found")
	}
	return text, nil
}
func (f fakeSystem) TryNAT(p string) error { return f.nat[p] }

// hostWith has files with the given texts, paths without the first slash.
func hostWith(system fakeSystem, files map[string]string) Host {
	all := fstest.MapFS{}
	for path, text := range files {
		all[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return Host{Files: all, System: system}
}
