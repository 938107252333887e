package run

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// TestUsersOf: the IDs of A-SEC-6 are a pod's with users of its own, and no other pod fails for files that are wrong.
func TestUsersOf(t *testing.T) {
	own, host := false, true
	for _, c := range []struct {
		subuid string
		users  *bool
		want   criconfig.UserNamespaceBlocks
		wrong  bool
	}{
		{subuid: "kubelet:1310720:131072", users: &own, want: criconfig.UserNamespaceBlocks{Length: criconfig.UserNamespaceLength, First: 1310720, End: 1310720 + 131072}},
		{subuid: "me:1:2", users: &own, want: criconfig.UserNamespaceBlocksOf(criconfig.UserNamespaceLength)},
		{subuid: "kubelet:1310720:1", users: &own, wrong: true},
		{subuid: "kubelet:1310720:1", users: &host},
		{subuid: "kubelet:1310720:1"},
	} {
		etc := t.TempDir()
		for _, file := range []string{"subuid", "subgid"} {
			assert.Must(t, os.WriteFile(filepath.Join(etc, file), []byte(c.subuid+"\n"), 0o600))
		}
		got, err := usersOf(&v1.Pod{Spec: v1.PodSpec{HostUsers: c.users}}, etc)
		assert.True(t, (err != nil) == c.wrong && (err != nil || got == c.want), "%+v: %+v, %v", c, got, err)
	}
}
