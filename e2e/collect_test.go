package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

var (
	churnPods   = flag.Int("collect.pods", 26, "how many pods TestImagesChurn has come and go (make churn: many more)")
	churnImages = flag.Int("collect.images", 24, "of how many images they are")
)

const (
	diskMiB  = 300
	largeMiB = 110
	imageMiB = 8 // of random bytes, which take twice that: as the registry has them, and unpacked
)

// TestImagesChurn: on a node whose disk has room for about 16 images, pods of more images
// come and go, several at once, and none ever fails for want of space: images that nothing
// uses are removed as pulls fill the disk, never one that a pod needs (B-GC-7). An image
// that is too large for what is free is pulled after the others were removed.
func TestImagesChurn(t *testing.T) {
	n := newSmallNode(t)
	reg, base := newRegistry(t, ""), carriedToolbox(t)
	var images []string
	for i := range *churnImages {
		images = append(images, reg.pushLarge(t, base, fmt.Sprintf("churn/%d", i), imageMiB))
	}
	const atOnce = 2
	for i := range *churnPods {
		n.begin(fmt.Sprintf("churn-%d", i), images[i*5%len(images)])
		if i >= atOnce {
			n.end(fmt.Sprintf("churn-%d", i-atOnce))
		}
	}
	for i := max(0, *churnPods-atOnce); i < *churnPods; i++ {
		n.end(fmt.Sprintf("churn-%d", i))
	}
	log := n.log()
	assert.True(t, !strings.Contains(log, "no space left on device"), "the disk was full:\n%s", log)
	collected := strings.Count(log, `msg="removed an image"`)
	assert.True(t, collected >= len(images)-16, "%d images were removed, of %d that do not fit\n%s", collected, len(images), log)
	n.begin("large", reg.pushLarge(t, base, "large", largeMiB))
	n.end("large")
	machine.Until(t, "nothing is left of the pods", func() bool {
		left, err := filepath.Glob(filepath.Join(n.root.dir, "pods/*"))
		return err == nil && len(left) == 0
	})
	for line := range strings.Lines(n.log()) {
		if strings.Contains(line, "-GC-") || strings.Contains(line, "large") {
			t.Log(strings.TrimSpace(line))
		}
	}
	t.Logf("%d pods of %d images, %d images removed, then one that needs %d of %d MiB", *churnPods, len(images), collected, 2*largeMiB, diskMiB)
}

// smallNode is a node without a cluster whose runtime has a small disk.
type smallNode struct {
	*testing.T
	root      *root
	manifests string
	done      string // has a file for each pod that has run
	agent     *machine.Process
	logFile   string
}

func newSmallNode(t *testing.T) *smallNode {
	t.Helper()
	n := &smallNode{T: t, root: newRoot(t), manifests: t.TempDir(), done: t.TempDir()}
	dir := filepath.Join(n.root.dir, "containerd")
	mountDisk(t, dir, diskMiB)
	config := filepath.Join(t.TempDir(), "config.yaml")
	writeText(t, config, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+
		"imageMinimumGCAge: 1s\nimageGCHighThresholdPercent: 60\nimageGCLowThresholdPercent: 50\nfileCheckFrequency: 1s\nhealthzPort: 0\n")
	n.logFile = filepath.Join(t.TempDir(), "log")
	n.agent = assert.Get(machine.StartProcess(exec.Command(binary, "agent", "--root="+n.root.dir, "--manifests="+n.manifests, "--config="+config), n.logFile)).Must(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the agent's log:\n%s", n.agent.LastLines(60))
		}
		assert.NoError(t, n.agent.Signal(syscall.SIGTERM))
		<-n.agent.Ended()
		if out, err := exec.Command(binary, "doctor", "--sweep", "--root", n.root.dir).CombinedOutput(); err != nil {
			t.Logf("doctor --sweep: %v\n%s", err, out)
		}
	})
	return n
}

// mountDisk has a folder be on a disk of its own until the test ends.
func mountDisk(t *testing.T, dir string, mib int) {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "disk")
	assert.Must(t, os.MkdirAll(dir, 0o711))
	for _, command := range [][]string{
		{"truncate", "-s", fmt.Sprintf("%dM", mib), disk}, {"mkfs.ext4", "-q", "-m", "0", disk}, {"mount", "-o", "loop", disk, dir},
	} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		assert.Require(t, err == nil, "%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		assert.True(t, err == nil, "umount: %v\n%s", err, out)
	})
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

func (n *smallNode) log() string {
	text := assert.Get(os.ReadFile(n.logFile)).Must(n)
	return string(text)
}

// begin begins a static pod, which says that it has run and then goes on.
func (n *smallNode) begin(pod, image string) {
	n.Helper()
	writeText(n.T, filepath.Join(n.manifests, pod+".yaml"), fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  volumes: [{name: done, hostPath: {path: %s}}]
  containers:
  - name: main
    image: %s
    command: [sh, -c, "touch /done/%s; exec sleep infinity"]
    volumeMounts: [{name: done, mountPath: /done}]
`, pod, n.done, image, pod))
}

// end takes a pod back once it has run.
func (n *smallNode) end(pod string) {
	n.Helper()
	machine.Until(n.T, pod+" has run", func() bool {
		assert.Require(n, !n.agent.HasEnded(), "the agent has ended:\n%s", n.agent.LastLines(20))
		_, err := os.Stat(filepath.Join(n.done, pod))
		return err == nil
	})
	assert.Must(n, os.Remove(filepath.Join(n.manifests, pod+".yaml")))
}

// pushLarge puts an image into the registry to which a file of random bytes was added.
func (reg *imageRegistry) pushLarge(t *testing.T, base v1.Image, path string, mib int) string {
	t.Helper()
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	content := make([]byte, mib<<20)
	_, _ = rand.Read(content) // never fails
	assert.Must(t, errors.Join(
		archive.WriteHeader(&tar.Header{Name: "bytes", Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}),
		second(archive.Write(content)), archive.Close(),
	))
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil }
	added := assert.Get(tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.NoCompression))).Must(t)
	image := assert.Get(mutate.AppendLayers(base, added)).Must(t)
	return reg.write(t, path, image)
}

func second(_ int, err error) error { return err }
