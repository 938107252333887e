package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

// usedFolder is a state folder in which nothing runs, with a file of somebody else's.
func usedFolder(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range append(names, "users.lock", "containerd/images", "runs/1.json", "logs/default_web_1/main/0.log") {
		path := filepath.Join(root, name)
		assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.Must(t, os.WriteFile(path, []byte("{}"), 0o600))
	}
	return root
}

func endAll(t *testing.T, root string, purge bool) (string, error) {
	t.Helper()
	return endFolder(t.Context(), downOptions{root: root, purge: purge, log: slog.New(slog.DiscardHandler)})
}

// What is left of pods goes, the rest stays for the next lifepod; with --purge all of
// lifepod goes, and nothing of others.
func TestDown(t *testing.T) {
	root := usedFolder(t)
	did, err := endAll(t, root, false)
	assert.True(t, err == nil && did == "There was no pod to end.", "%q, %v", did, err)
	for name, stays := range map[string]bool{"containerd/images": true, "runs/1.json": false, "logs/default_web_1": false} {
		_, err := os.Stat(filepath.Join(root, name))
		assert.True(t, (err == nil) == stays, "%s: %v, want it there: %v", name, err, stays)
	}
	did, err = endAll(t, root, true)
	assert.True(t, err == nil && did == "There was no pod to end. Removed "+root+".", "%q, %v", did, err)
	assert.Fails(t, assert.ErrorOf(os.Stat(root)), "the folder is there")
	node := usedFolder(t, "pod-resources/kubelet.sock", "device-plugins/kubelet.sock", "plugins_registry/driver.sock") // a driver's is its own
	if did, err := endAll(t, node, true); err != nil || did != "There was no pod to end. Removed what is lifepod's in "+node+". What is left there: plugins_registry." {
		t.Errorf("%q, %v", did, err)
	}
	mixed := usedFolder(t, "letters/to-mum", "thesis.tex")
	if did, err := endAll(t, mixed, true); err != nil || did != "There was no pod to end. Removed what is lifepod's in "+mixed+". What is left there: letters, thesis.tex." {
		t.Errorf("%q, %v", did, err)
	}
}

// A folder that no lifepod has used is left alone, one that is in use, too.
func TestDownRefuses(t *testing.T) {
	foreign := t.TempDir()
	assert.Must(t, os.WriteFile(filepath.Join(foreign, "pods"), nil, 0o600))
	did, err := endAll(t, foreign, true)
	assert.True(t, err == nil && did == "There is nothing of lifepod in "+foreign+".", "%q, %v", did, err)
	assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(foreign, "pods"))))
	root := usedFolder(t)
	paths := assert.Get(bundle.Locate(root, "")).Must(t)
	release := assert.Get(paths.Exclude()).Must(t)
	defer func() { _ = release() }()
	_, err = endAll(t, root, true)
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "a lifepod uses "+root+": end it first"), "in use: %v", err)
}

// TestDownWithoutPods: a lifepod run -d that has no pod at the moment is ended, too, and no other process with its log.
func TestDownWithoutPods(t *testing.T) {
	root := t.TempDir()
	log := assert.Get(os.Create(filepath.Join(root, "run.log"))).Must(t)
	defer log.Close()
	start := func(environment string) *exec.Cmd {
		command := exec.Command("sleep", "1000")
		command.Env, command.Stdout = []string{environment}, log
		assert.Must(t, command.Start())
		t.Cleanup(func() { _ = command.Process.Kill() }) // it may have ended
		return command
	}
	own, other := start("LIFEPOD_READY=1"), start("LIFEPOD_READY=0")
	ended := make(chan error, 1)
	go func() { ended <- own.Wait() }()
	did, err := (&global{root: root}).stopInBackground(t.Context(), nil)
	assert.True(t, did == "Stopped lifepod run -d with 0 pods. " && err == nil, "%q, %v", did, err)
	assert.Error(t, "signal: terminated", <-ended)
	assert.Must(t, other.Process.Kill())
	assert.Error(t, "signal: killed", other.Wait())
}

// Of a folder that somebody has deleted, what is left on the machine goes, unless a lifepod still uses it.
func TestDownOfDeletedFolder(t *testing.T) {
	for _, below := range []string{"", "node"} { // a cluster has its pods in the second
		root := filepath.Join(t.TempDir(), "lifepod")
		paths := assert.Get(bundle.Locate(filepath.Join(root, below), "")).Must(t)
		release := assert.Get(paths.Exclude()).Must(t)
		assert.Must(t, os.Mkdir(paths.RunDir, 0o700))
		t.Cleanup(func() { _ = os.Remove(paths.RunDir) })
		assert.Must(t, os.RemoveAll(root))
		if _, err := endAll(t, root, false); err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("has been deleted, but process %d still uses it: end it first", os.Getpid())) {
			t.Errorf("in use: %v", err)
		}
		assert.Must(t, release())
		want := root + " has been deleted. Removed what was left of its pods on this machine: 1 leftover."
		if did, err := endAll(t, root, false); err != nil || did != want {
			t.Errorf("%q, %v, want %q", did, err, want)
		}
		for _, path := range []string{paths.RunDir, root} {
			_, err := os.Stat(path)
			assert.True(t, err != nil, "%s is there", path)
		}
		did, err := endAll(t, root, false)
		assert.True(t, err == nil && did == "There is nothing of lifepod in "+root+".", "%q, %v", did, err)
	}
}

// Of a folder that was deleted in part, --purge removes the rest of what is lifepod's, and nothing of others.
func TestDownOfFolderDeletedInPart(t *testing.T) {
	root := t.TempDir()
	paths := assert.Get(bundle.Locate(root, "")).Must(t)
	for _, folder := range []string{paths.RunDir, filepath.Join(root, "containerd"), filepath.Join(root, "letters")} {
		assert.Must(t, os.Mkdir(folder, 0o700))
		t.Cleanup(func() { _ = os.Remove(folder) })
	}
	want := root + " has been deleted in part. Removed what was left of its pods on this machine: 1 leftover."
	did, err := endAll(t, root, true)
	assert.True(t, err == nil && did == want, "%q, %v, want %q", did, err, want)
	left, err := os.ReadDir(root)
	assert.True(t, err == nil && len(left) == 1 && left[0].Name() == "letters", "left: %v, %v", left, err)
}
