package criconfig

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/testing/protocmp"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
)

func podFolder(t *testing.T, podsDir string, uid types.UID) string {
	t.Helper()
	dir := filepath.Join(podsDir, string(uid))
	assert.Must(t, os.MkdirAll(dir, 0o750))
	return dir
}

func of(t *testing.T, podsDir string, uid types.UID) uint32 {
	t.Helper()
	got := assert.Get(UserNamespaceBlocks{}.Of(podsDir, uid)).Must(t)
	return got.Uids[0].HostId
}

func TestOf(t *testing.T) {
	podsDir := filepath.Join(t.TempDir(), "root[1]*") // no pattern, whatever it looks like
	dir := podFolder(t, podsDir, "a")
	podFolder(t, podsDir, "b")
	got := assert.Get(UserNamespaceBlocks{}.Of(podsDir, "a")).Must(t)
	first := got.Uids[0].HostId
	ids := []*runtimeapi.IDMapping{{HostId: first, ContainerId: 0, Length: 65536}}
	assert.Deep(t, "A-SEC-6", &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: ids, Gids: ids}, got, protocmp.Transform())
	assert.True(t, first%65536 == 0 && first >= 524288 && first <= 1879048191-65535, "A-SEC-6 block at %d", first)
	again := of(t, podsDir, "a")
	assert.True(t, again == first, "A-SEC-6 the second time %d, want the recorded %d", again, first)
	second := of(t, podsDir, "b")
	assert.True(t, second != first, "A-SEC-6 two pods share the block at %d", first)
	text, err := os.ReadFile(filepath.Join(dir, "userns"))
	wantText := fmt.Sprintf(`{"uidMappings":[{"hostId":%d,"containerId":0,"length":65536}],"gidMappings":[{"hostId":%d,"containerId":0,"length":65536}]}`, first, first)
	assert.True(t, err == nil && string(text) == wantText, "A-SEC-6 record %s, %v, want %s", text, err, wantText)
	assert.Must(t, os.RemoveAll(dir))
	podFolder(t, podsDir, "c")
	assert.Equal(t, first, of(t, podsDir, "c"), "A-SEC-6 after the first pod's end")
}

// The volumes, which make the pod's folder as well, may not have begun.
func TestOfBeforeTheFolder(t *testing.T) {
	podsDir := filepath.Join(t.TempDir(), "pods")
	first := of(t, podsDir, "a")
	info, err := os.Stat(filepath.Join(podsDir, "a"))
	assert.True(t, err == nil && info.Mode() == fs.ModeDir|0o750, "A-SEC-6 the pod's folder: %v, %v, want one with mode 0750", info, err)
	assert.Equal(t, first, of(t, podsDir, "a"), "A-SEC-6 the second time")
}

// A block is its pod's after a power cut, too: files of its users stay.
func TestOfSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	disk.Settle()
	of(t, disk.Dir, "a")
	disk.Cut()
	assert.NoError(t, assert.ErrorOf(read(filepath.Join(disk.Dir, "a", recordName))))
}

func TestOfAtTheSameTime(t *testing.T) {
	podsDir := t.TempDir()
	const pods = 20
	got := make([]uint32, pods)
	var group sync.WaitGroup
	for i := range pods {
		uid := types.UID(fmt.Sprint("pod", i))
		podFolder(t, podsDir, uid)
		group.Go(func() {
			if ns, err := (UserNamespaceBlocks{}).Of(podsDir, uid); err == nil {
				got[i] = ns.Uids[0].HostId
			}
		})
	}
	group.Wait()
	seen := map[uint32]int{}
	for i, first := range got {
		other, found := seen[first]
		assert.True(t, !found && first != 0, "A-SEC-6 pods %d and %d have the block at %d", other, i, first)
		seen[first] = i
	}
}

func TestOfWithADamagedRecord(t *testing.T) {
	const good = `{"hostId":655360,"containerId":0,"length":65536}`
	for name, text := range map[string]string{
		"no JSON":         `{`,
		"empty":           `{}`,
		"no root":         `{"uidMappings":[{"hostId":655360,"containerId":1,"length":65536}],"gidMappings":[{"hostId":655360,"containerId":1,"length":65536}]}`,
		"host's root":     `{"uidMappings":[{"hostId":0,"containerId":0,"length":65536}],"gidMappings":[{"hostId":0,"containerId":0,"length":65536}]}`,
		"another length":  `{"uidMappings":[{"hostId":655360,"containerId":0,"length":1}],"gidMappings":[{"hostId":655360,"containerId":0,"length":1}]}`,
		"users only":      `{"uidMappings":[` + good + `],"gidMappings":[]}`,
		"groups elsewise": `{"uidMappings":[` + good + `],"gidMappings":[{"hostId":720896,"containerId":0,"length":65536}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			podsDir := t.TempDir()
			path := filepath.Join(podFolder(t, podsDir, "a"), "userns")
			assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
			podFolder(t, podsDir, "b")
			for _, uid := range []types.UID{"a", "b"} { // b: what is free can't be told
				got, err := (UserNamespaceBlocks{}).Of(podsDir, uid)
				assert.True(t, err != nil && strings.Contains(err.Error(), path), "A-SEC-6 pod %s: %v, %v, want an error about %s", uid, got, err, path)
			}
		})
	}
}
