package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestImageVolume: the files of an image, read-only, whole and a part of them (A-IMG-10, A-VOL-2).
func TestImageVolume(t *testing.T) {
	t.Parallel()
	image := newRegistry(t, "").push(t, "files", "files")
	result := shared.runStory(t, 0, pod("image-volume", `
restartPolicy: Never
volumes: [{name: v, image: {reference: "`+image+`", pullPolicy: Always}}]
containers:
`+shell("main", `
ls /v/bin/toolbox /part/toolbox
write /v/new x 2>&1
echo`, `
volumeMounts:
- {name: v, mountPath: /v}
- {name: v, mountPath: /part, subPath: bin}`)))
	want := "toolbox\ntoolbox\nwrite: open /v/new: read-only file system\n\n"
	assert.Deep(t, "output", want, result.output("main"))
	var events []string
	for _, o := range result {
		if o.Type == "event" && strings.Contains(o.Message, image) {
			events = append(events, strings.TrimSpace(o.Subject+" "+o.Reason))
		}
	}
	assert.Deep(t, "events of the image", []string{"Pulling", "Pulled"}, events)
}

// TestImageVolumeOfLoadedImage: an image that was loaded, not pulled, is as good.
func TestImageVolumeOfLoadedImage(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("loaded-volume", `
restartPolicy: Never
volumes: [{name: v, image: {reference: TOOLBOX}}]
containers:
`+shell("main", "ls /v/bin/toolbox", mountV)))
	got.want(t, 0, "toolbox\n")
}

// TestImageVolumeMissing: the container that mounts it waits with the pull's
// reason, the others run.
func TestImageVolumeMissing(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	c := shared.startRun(t, pod("no-image-volume", `
restartPolicy: Never
volumes: [{name: v, image: {reference: "`+reg.host+`/absent:1"}}]
containers:
`+shell("main", "true", mountV)+shell("other", "sleep 1000")), "-o", "json")
	c.await(c.stdout, `"reason":"Failed","message":"Error: ErrImagePull"`)
	c.await(c.stdout, `"reason":"ErrImagePull"`)
	c.await(c.stdout, `"subject":"other","what":"started"`)
	c.signal(syscall.SIGINT)
	c.wait()
}
