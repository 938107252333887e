package cri

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		`RunContainerError: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "/no/such": stat /no/such: no such file or directory`: `RunContainerError: exec: "/no/such": stat /no/such: no such file or directory`,
		`ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "r.io/absent:1": failed to resolve image: r.io/absent:1: not found → try again in 10s`:                                                                                      `ErrImagePull: failed to resolve image: r.io/absent:1: not found → try again in 10s`,
		`Internal error occurred: error executing command in container: failed to exec in container: failed to start exec "5f": OCI runtime exec failed: exec failed: cannot exec in a paused container`:                                                             `cannot exec in a paused container`,
		`worker exited 1 → restart now (restartPolicy OnFailure, 1st failure)`: `worker exited 1 → restart now (restartPolicy OnFailure, 1st failure)`,
		`exec: "bash": executable file not found in $PATH`:                     `exec: "bash": executable file not found in $PATH`,
	} {
		got := Reason(text)
		assert.True(t, got == want, "%s\ngot  %s\nwant %s", text, got, want)
	}
}
