package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// install puts a program by the name of crun into PATH, in front of what is there.
func install(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	assert.Must(t, os.WriteFile(filepath.Join(dir, "crun"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestVersions(t *testing.T) {
	for said, want := range map[string]string{
		"crun version 1.14.3":       "",
		"crun version 1.21":         "",
		"crun version 1.21-1.el9":   "",
		"crun version 2.0":          "",
		"crun version 1.14.2":       "crun 1.14.2 (PROGRAM) is too old: want 1.14.3 or newer",
		"crun version 1.8.1":        "crun 1.8.1 (PROGRAM) is too old: want 1.14.3 or newer",
		"crun version UNKNOWN":      "crun UNKNOWN (PROGRAM): its version can't be read: want 1.14.3 or newer",
		"something else altogether": `ask PROGRAM for its version: it says "something else altogether"`,
	} {
		install(t, "echo '"+said+"'\necho commit: 0123\n")
		found, err := FindCrun(t.Context())
		if err == nil {
			err = found.Check()
		}
		got := ""
		if err != nil {
			path, _, _ := strings.Cut(os.Getenv("PATH"), ":")
			got = strings.ReplaceAll(err.Error(), filepath.Join(path, "crun"), "PROGRAM")
		}
		assert.Deep(t, fmt.Sprintf("%s: error", said), want, got)
	}
}

func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := FindCrun(t.Context())
	assert.True(t, errors.Is(err, ErrNoCrun), "error %v", err)
}

// A container that was made is deleted, and what crun says is the error. Nothing is left of
// either.
func TestTry(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv("CALLS", calls)
	for answer, want := range map[string]string{
		"exit 0": "",
		"[ $4 != create ] || { echo 'no such luck'; echo 'cgroups are odd' >&2; exit 1; }": "can't make a container on this machine: no such luck; cgroups are odd",
		"[ $4 != delete ] || { echo 'it stays'; exit 1; }":                                 "can't make a container on this machine: it stays",
		"exit 3": "can't make a container on this machine: exit status 3",
	} {
		install(t, "[ $1 != --version ] || { echo crun version 1.21; exit; }\n[ $3 = --systemd-cgroup ] || exit 9\necho $4 >> $CALLS\n"+answer+"\n")
		dir := t.TempDir()
		_, err := UsableCrun(t.Context(), dir, true)
		got := text(err)
		assert.True(t, strings.HasSuffix(got, want) && (want == "") == (err == nil), "%s: error %q, want %q", answer, got, want)
		left, err := os.ReadDir(dir)
		assert.True(t, err == nil && len(left) == 0, "%s: %v are left, %v", answer, left, err)
		called, err := os.ReadFile(calls)
		assert.True(t, err == nil && string(called) == "create\ndelete\n", "%s: called %q, %v", answer, called, err)
		assert.Must(t, os.Remove(calls))
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
