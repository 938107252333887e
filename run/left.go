package run

import (
	"encoding/json"
	"os"

	"golang.org/x/sys/unix"
)

// Left names the pods of a root, as namespace/name, whose lifepod was killed.
// Nothing is locked for it: another lifepod may be about to go on with them, and
// must not find their records taken.
func Left(root string) []string {
	paths, err := records(root)
	if err != nil {
		return nil // then nothing can be said of them
	}
	var left []string
	for _, path := range paths {
		if r := readRecord(path); r != nil && unix.Kill(r.PID, 0) != nil {
			left = append(left, r.Namespace+"/"+r.Name)
		}
	}
	return left
}

// readRecord reads a record without its lock; nil if it cannot be read.
func readRecord(path string) *record {
	data, err := os.ReadFile(path)
	var r record
	if err != nil || json.Unmarshal(data, &r) != nil {
		return nil
	}
	return &r
}
