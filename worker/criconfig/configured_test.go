package criconfig

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// The blocks are of what /etc/subuid and /etc/subgid give the user kubelet (A-SEC-6).
func TestConfigured(t *testing.T) {
	const two = 2 * 65536
	for name, test := range map[string]struct {
		users, groups string
		length        uint32
		want          UserNamespaceBlocks
		err           string
	}{
		"nobody":           {users: "me:100000:65536", length: UserNamespaceLength, want: UserNamespaceBlocks{Length: UserNamespaceLength, First: 524288, End: 1879048192}},
		"longer blocks":    {length: 3 * UserNamespaceLength, want: UserNamespaceBlocks{Length: 3 * UserNamespaceLength, First: 589824, End: 1879048192 / (3 * UserNamespaceLength) * 3 * UserNamespaceLength}},
		"a range":          {users: "me:1:2\nkubelet:1310720:1310720", groups: "kubelet:1310720:1310720", length: two, want: UserNamespaceBlocks{Length: two, First: 1310720, End: 2621440}},
		"users only":       {users: "kubelet:1310720:1310720", length: UserNamespaceLength, err: "should be the same in both files"},
		"two lines":        {users: "kubelet:65536:65536\nkubelet:131072:65536", length: UserNamespaceLength, err: "should have one"},
		"no number":        {users: "kubelet:a:65536", length: UserNamespaceLength, err: "should be kubelet:FIRST:COUNT"},
		"no multiple":      {users: "kubelet:65536:1310720", groups: "kubelet:65536:1310720", length: two, err: "should begin at a multiple of 131072"},
		"the host's root":  {users: "kubelet:0:1310720", groups: "kubelet:0:1310720", length: UserNamespaceLength, err: "0 is the machine's own root"},
		"too few for pods": {users: "kubelet:65536:131072", groups: "kubelet:65536:131072", length: UserNamespaceLength, err: "are enough for 2 pods of 65536 IDs each: should be for maxPods, 10"},
		"beyond all IDs":   {users: "kubelet:4293591040:1376256", groups: "kubelet:4293591040:1376256", length: UserNamespaceLength, err: "should be kubelet:FIRST:COUNT, within 32 bits"},
		"too long blocks":  {length: 1 << 31, err: "are enough for 0 pods"},
	} {
		t.Run(name, func(t *testing.T) {
			etc := t.TempDir()
			for file, content := range map[string]string{"subuid": test.users, "subgid": test.groups} {
				if content == "" {
					continue
				}
				assert.Must(t, os.WriteFile(filepath.Join(etc, file), []byte(content+"\n"), 0o600))
			}
			got, err := ConfiguredUserNamespaces(etc, test.length, 10)
			if test.err != "" {
				assert.ErrorContains(t, test.err, err, "A-SEC-6")
				return
			}
			assert.True(t, err == nil && got == test.want, "A-SEC-6 %+v, %v, want %+v", got, err, test.want)
		})
	}
}

// A pod keeps its block when the length is changed, and no other gets a part of it
// (A-SEC-6).
func TestOtherLength(t *testing.T) {
	podsDir := t.TempDir()
	long := UserNamespaceBlocks{Length: 2 * UserNamespaceLength, First: 4 * UserNamespaceLength, End: 8 * UserNamespaceLength}
	first, err := long.Of(podsDir, "a")
	assert.Require(t, err == nil && first.Uids[0].Length == 2*UserNamespaceLength, "A-SEC-6 %v, %v", first, err)
	short := UserNamespaceBlocks{Length: UserNamespaceLength, First: 4 * UserNamespaceLength, End: 8 * UserNamespaceLength}
	again, err := short.Of(podsDir, "a")
	assert.True(t, err == nil && again.Uids[0].HostId == first.Uids[0].HostId && again.Uids[0].Length == 2*UserNamespaceLength,
		"A-SEC-6 again: %v, %v", again, err)
	for _, uid := range []types.UID{"b", "c"} {
		got := assert.Get(short.Of(podsDir, uid)).Must(t)
		id := got.Uids[0].HostId
		assert.True(t, id < first.Uids[0].HostId || id >= first.Uids[0].HostId+2*UserNamespaceLength, "A-SEC-6 pod %s has a part of another's block", uid)
	}
	assert.Fails(t, assert.ErrorOf(short.Of(podsDir, "d")), "A-SEC-6 a fifth block of four")
}
