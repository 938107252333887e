package leftovers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

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
	found, err := fakeSystem(t).find(t.Context(), place)
	assert.Must(t, err)
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
	err = Sweep(t.Context(), found)
	wantErr := "remove pod on another runtime " + filepath.Join(place.Root, "runs/theirs.json") +
		": its pod is on another runtime, unix:///run/crio/crio.sock: lifepod ps names it, lifepod stop ends it"
	assert.Error(t, wantErr, err, "sweep")
	for _, kept := range []string{"pods/theirs/x", "logs/default_web_theirs/x", "runs/theirs.json", "runs/theirs.checkpoint"} {
		assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(place.Root, kept))))
	}
}
