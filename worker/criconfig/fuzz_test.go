package criconfig

import (
	"errors"
	"testing"
)

// FuzzParseContainer: whatever the runtime has in a container's labels and annotations, it is somebody else's, or is read with
// an error for what can't be.
func FuzzParseContainer(f *testing.F) {
	f.Add("uid", "main", "1f", "3", `{"exec":{"command":["x"]}}`)
	f.Add("", "main", "", "", "")
	f.Add("../..", "-o", "-1", "99999999999999999999", `{"exec":[]}`)
	f.Fuzz(func(t *testing.T, uid, container, hash, number, text string) {
		labels := map[string]string{PodUIDLabel: uid, ContainerNameLabel: container}
		id, err := ParseContainer(labels, map[string]string{
			hashAnnotation: hash, restartCountAnnotation: number, terminationGracePeriodAnnotation: number,
			deletionGracePeriodAnnotation: number, preStopHandlerAnnotation: text, portsAnnotation: text,
		})
		if ours := uid != "" && container != ""; errors.Is(err, ErrNotOurs) == ours {
			t.Fatalf("%q of %q: %v", container, uid, err)
		}
		if err == nil && (id.TerminationGracePeriodSeconds == nil || *id.TerminationGracePeriodSeconds != int64(id.RestartCount)) {
			t.Fatalf("%q is read as %+v", number, id)
		}
		if _, err := ParseSandbox(labels); errors.Is(err, ErrNotOurs) == (uid != "") {
			t.Fatalf("sandbox of %q: %v", uid, err)
		}
	})
}
