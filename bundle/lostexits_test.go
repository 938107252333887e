package bundle

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// The end of a container is added to containerd's record of one that runs, all else
// stays as it was; what has ended already, never ran or is written in another way is
// not touched (B-RST-15). That containerd reads it as its own, the tests of killed
// containerds show.
func TestSavedExit(t *testing.T) {
	for name, test := range map[string]struct{ record, want string }{
		"runs": {
			`{"Version":"v1","Pid":7,"CreatedAt":1,"StartedAt":2,"FinishedAt":0,"ExitCode":0,"Reason":"","Resources":{"linux":{"cpu_shares":2}}}`,
			`{"CreatedAt":1,"ExitCode":88,"FinishedAt":3000000004,"Pid":0,"Reason":"","Resources":{"linux":{"cpu_shares":2}},"StartedAt":2,"Version":"v1"}`,
		},
		"has ended":       {`{"Version":"v1","StartedAt":2,"FinishedAt":3}`, ""},
		"never ran":       {`{"Version":"v1","CreatedAt":1}`, ""},
		"another version": {`{"Version":"v2","StartedAt":2}`, ""},
		"torn":            {`{"Version":"v1","StartedAt"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "id", "status")
			assert.Must(t, replaceFile(path, []byte(test.record)))
			exit, running := readExit(path)
			if running != (test.want != "") {
				t.Fatalf("runs: %t", running)
			}
			if !running {
				return
			}
			if err := exit.save(88, time.Unix(3, 4)); err != nil || exit.id != "id" {
				t.Fatalf("save the exit of %q: %v", exit.id, err)
			}
			if got, err := os.ReadFile(path); string(got) != test.want || err != nil {
				t.Errorf("record\n%s, %v; want\n%s", got, err, test.want)
			}
		})
	}
}
