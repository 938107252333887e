package leftovers

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// Every trace of a pod below the root is found, and swept.
func TestWhatPodsLeaveBelowTheRoot(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{
		"pods/u1/volumes/x", "logs/default_web_u1/app/0.log", "ipam/pods/u1", "ipam/lock", "runs/u1.json", "runs/.new-5", "containerd/x", "certs.d/x",
	} {
		write(t, filepath.Join(root, path), "x")
	}
	found := assert.Get(findInFolders(Place{Root: root})).Must(t)
	var got []string
	for _, leftover := range found {
		path, _ := filepath.Rel(root, leftover.Name)
		got = append(got, string(leftover.Kind)+" "+path)
	}
	want := []string{"pod folder pods/u1", "log folder logs/default_web_u1", "address record ipam/pods/u1", "pod record runs/.new-5", "pod record runs/u1.json"}
	assert.Deep(t, "found", want, got)
	assert.Must(t, Sweep(t.Context(), found))
	again, err := findInFolders(Place{Root: root})
	assert.True(t, len(again) == 0 && err == nil, "after the sweep: %v, %v", again, err)
	for _, kept := range []string{"ipam/lock", "containerd/x", "certs.d/x"} {
		assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(root, kept))))
	}
}

// A record that its lifepod holds means that the pod lives.
func TestInUse(t *testing.T) {
	place := Place{Root: t.TempDir()}
	path := filepath.Join(place.Root, "runs", "u1.json")
	write(t, path, "{}")
	used, err := InUse(place)
	assert.True(t, !used && err == nil, "nobody holds it: want false, got %v, %v", used, err)
	record := assert.Get(os.Open(path)).Must(t)
	defer func() { _ = record.Close() }()
	assert.Must(t, unix.Flock(int(record.Fd()), unix.LOCK_EX))
	used, err = InUse(place)
	assert.True(t, used && err == nil, "held: want true, got %v, %v", used, err)
}

// What a pod on another runtime has stays: its containers may run on.
func TestForeignPodsStay(t *testing.T) {
	place := Place{Root: t.TempDir(), Endpoint: "unix:///run/lifepod/containerd.sock"}
	for _, uid := range []string{"ours", "theirs"} {
		write(t, filepath.Join(place.Root, "pods", uid, "x"), "x")
		write(t, filepath.Join(place.Root, "logs", "default_web_"+uid, "x"), "x")
		write(t, filepath.Join(place.Root, "runs", uid+".checkpoint"), "x")
	}
	write(t, filepath.Join(place.Root, "runs/ours.json"), `{"endpoint":"unix:///run/lifepod/containerd.sock"}`)
	write(t, filepath.Join(place.Root, "runs/theirs.json"), `{"endpoint":"unix:///run/crio/crio.sock"}`)
	write(t, filepath.Join(place.Root, "runs/torn.json"), ``)
	found := assert.Get(fakeSystem(t).find(t.Context(), place)).Must(t)
	var got []string
	for _, leftover := range found {
		path, _ := filepath.Rel(place.Root, leftover.Name)
		got = append(got, string(leftover.Kind)+" "+path)
	}
	want := []string{
		"pod folder pods/ours", "log folder logs/default_web_ours",
		"pod record runs/ours.checkpoint", "pod record runs/ours.json", "pod on another runtime runs/theirs.json", "pod record runs/torn.json",
	}
	assert.Deep(t, "found", want, got)
	err := Sweep(t.Context(), found)
	wantErr := "remove pod on another runtime " + filepath.Join(place.Root, "runs/theirs.json") +
		": its pod is on another runtime, unix:///run/crio/crio.sock: lifepod ps names it, lifepod stop ends it"
	assert.Error(t, wantErr, err, "sweep")
	for _, kept := range []string{"pods/theirs/x", "logs/default_web_theirs/x", "runs/theirs.json", "runs/theirs.checkpoint"} {
		assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(place.Root, kept))))
	}
}
