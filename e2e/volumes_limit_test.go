package e2e

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestEmptyDirLimit: a pod that writes more into a volume than its sizeLimit fails, Evicted (B-LST-1).
func TestEmptyDirLimit(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 143, pod("size-limit", `
volumes: [{name: v, emptyDir: {sizeLimit: 256Ki}}]
containers:
`+shell("main", "cp /bin/toolbox /v/copy; sleep 1000", mountV, "resources: {limits: {memory: 100Mi}}")))
	evicted(t, result, `Usage of EmptyDir volume "v" exceeds the limit "256Ki". `)
}

// TestEphemeralStorageLimit: the same for what a container writes elsewhere, also if it exits 0 when it is stopped (B-WRK-12).
func TestEphemeralStorageLimit(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 1, pod("storage-limit", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "cp /bin/toolbox /v/copy; exec sleep --on-term 0 1000", mountV, "resources: {limits: {memory: 100Mi, ephemeral-storage: 300Ki}}")))
	evicted(t, result, `Pod ephemeral local storage usage exceeds the total limit of containers 300Ki. `)
}

func evicted(t *testing.T, result story, message string) {
	t.Helper()
	last := result.last(t)
	assert.True(t, last.Phase == v1.PodFailed && last.Reason == "Evicted" && last.Message == message,
		"phase %s, reason %s, message %q; want Failed, Evicted, %q", last.Phase, last.Reason, last.Message, message)
	events := 0
	for _, o := range result {
		if o.Type == "event" && o.Reason == "Evicted" && o.Message == message {
			events++
		}
	}
	assert.True(t, events == 1, "%d events Evicted, want one", events)
}

// TestMemoryVolumeLimit: a volume in memory is as large as its limit, and no larger.
func TestMemoryVolumeLimit(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("memory-limit", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {medium: Memory, sizeLimit: 64Ki}}]
containers:
`+shell("main", "cp /bin/toolbox /v/copy 2>/dev/null || echo full", mountV, "resources: {limits: {memory: 100Mi}}")))
	got.want(t, 0, "full\n")
}
