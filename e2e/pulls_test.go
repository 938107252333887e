package e2e

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/lifepod/lifepod/e2e/terminal"
	"github.com/lifepod/lifepod/internal/assert"
)

// pushLayers puts the toolbox image with so many layers of 2 MiB on top into the registry.
func (reg *imageRegistry) pushLayers(t *testing.T, path string, layers int) string {
	t.Helper()
	image := carriedToolbox(t)
	for range layers {
		layer := assert.Get(random.Layer(2<<20, types.OCILayer)).Must(t)
		image = assert.Get(mutate.AppendLayers(image, layer)).Must(t)
	}
	return reg.write(t, path, image)
}

// TestPullProgress: two images of a pod whose layers stop halfway are told of side by side, with
// bytes, rate and layer, and lifepod why names the layer.
func TestPullProgress(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	one, two := reg.pushLayers(t, "one", 2), reg.pushLayers(t, "two", 1)
	release := reg.stopHalfway()
	defer release()
	c := shared.startRun(t, pod("slow-layers", `
restartPolicy: Never
containers:
- {name: one, image: '`+one+`', command: [echo, hi]}
- {name: two, image: '`+two+`', command: [echo, hi]}`))
	const how = `, [\d.]+ of [\d.]+ MiB at [\d.]+ (B|KiB|MiB)/s, layer \d of `
	c.await(c.stderr, "pod pulling "+one+` for \d+s`+how+`\d`)
	c.await(c.stderr, "pod pulling "+two+` for \d+s`+how+`\d`)
	c.await(c.stderr, "pod pulling "+one+` for \d+s, [\d.]+ of [\d.]+ MiB at 0 B/s, layer`) // nothing has come for 5 s
	got := shared.lifepod(t, "", "why", "slow-layers")
	text := strings.Join(strings.Fields(got.stdout), " ")
	for _, image := range []string{one, two} {
		want := `The image ` + image + ` of (one|two) is being pulled: \S+ (KiB|MiB) of \S+ MiB are here and no more is coming, ` +
			`and layer \d of \d \([0-9a-f]{12}\) is the slowest with \S+ (KiB|MiB) of \S+ MiB`
		assert.True(t, regexp.MustCompile(want).MatchString(text), "why of %s: exit code %d\n%s%s", image, got.code, got.stdout, got.stderr)
	}
	release()
	got = c.wait()
	assert.True(t, got.code == 0 && strings.Count(got.stdout, "hi\n") == 2, "exit code %d\n%s%s", got.code, got.stdout, got.stderr)
}

// TestImagePullProgress: image pull shows the layers.
func TestImagePullProgress(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	image := reg.pushLayers(t, "layers", 2)
	release := reg.stopHalfway()
	defer release()
	c := shared.start(t, "", "image", "pull", image, "-o", "json")
	layer := `{"digest":"sha256:[0-9a-f]{64}","state":"downloading","doneBytes":1\d{6},"totalBytes":2\d{6},"bytesPerSecond":\d+}`
	c.await(c.stdout, `^{"type":"progress","image":"`+image+`","elapsedSeconds":[\d.]+,"phase":"downloading",.*"layers":\[.*`+layer+`,`+layer+`\]}$`)
	lines := shared.start(t, "", "image", "pull", image)
	lines.await(lines.stderr, "^pulling "+image+` for \d+s`)
	release()
	if got := c.wait(); got.code != 0 || !regexp.MustCompile(`(?m)^{"type":"pulled","image":"`+image+`","elapsedSeconds":[\d.]+,"id":"sha256:`).MatchString(got.stdout) {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	lines.wait().want(t, 0, image+"\n")
}

// TestImagePullOnATerminal: there the layers are a line each, which are taken away at the end.
func TestImagePullOnATerminal(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	image := reg.pushLayers(t, "screen", 2)
	release := reg.stopHalfway()
	defer release()
	user := terminal.Start(t, exec.Command(binary, "--root", shared.dir, "image", "pull", image))
	user.Await("  downloading  1.0 of 2.0 MiB at ")
	release()
	if code := user.End(); code != 0 || !strings.HasSuffix(user.Text(), "\r\x1b[K"+image+"\r\n") && !strings.HasSuffix(user.Text(), "\x1b[A\x1b[K"+image+"\r\n") {
		t.Errorf("exit code %d: %q", code, user.Text())
	}
}
