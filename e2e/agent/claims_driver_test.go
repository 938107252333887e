package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// cdiFolder is where runtimes look for the devices that drivers describe.
const cdiFolder = "/var/run/cdi"

// deviceDriver is a driver of devices for resource claims. It sets a variable in containers
// that have one.
type deviceDriver struct {
	t         *testing.T
	name      string // which is that of its DeviceClass, too
	node      *member.Member
	arguments []string
	described string // which files describe devices that are prepared
	process   *machine.Process
}

// newDeviceDriver starts upstream's test driver on a node. It has four devices, which are
// prepared and described one by one.
func newDeviceDriver(t *testing.T, node *member.Member, name string) *deviceDriver {
	t.Helper()
	d := &deviceDriver{t: t, name: name, node: node, described: name + "-*", arguments: []string{
		"test-driver", "--kubeconfig=" + plane.Kubeconfig(), "--drivername=" + name, "-v=5", "kubelet-plugin",
		"--node-name=" + node.Name, "--plugin-registration-path=" + filepath.Join(node.RootDir(), "plugins_registry"),
		"--datadir=" + filepath.Join(node.RootDir(), "plugins"), "--cdi-dir=" + cdiFolder,
	}}
	d.begin()
	return d
}

// newExampleDriver starts the driver dra-example-driver, which is made of
// e2e/controlplane/exampledriver. It has eight GPUs that are none, and describes those of a
// claim in one file. There can be one at a time: it has a name of its own.
func newExampleDriver(t *testing.T, node *member.Member) *deviceDriver {
	t.Helper()
	d := &deviceDriver{t: t, name: "gpu.example.com", node: node, described: "k8s.gpu.example.com-gpu_????????-*", arguments: []string{
		"dra-example-kubeletplugin", "--kubeconfig=" + plane.Kubeconfig(), "--node-name=" + node.Name, "--cdi-root=" + cdiFolder,
		"--kubelet-registrar-directory-path=" + filepath.Join(node.RootDir(), "plugins_registry"),
		"--kubelet-plugins-directory-path=" + filepath.Join(node.RootDir(), "plugins"),
	}}
	t.Cleanup(func() { _ = os.Remove(filepath.Join(cdiFolder, "k8s.gpu.example.com-gpu_common.yaml")) }) // what all devices have in common
	d.begin()
	return d
}

// begin runs the driver until the test ends, and makes its DeviceClass.
func (d *deviceDriver) begin() {
	d.t.Helper()
	class := "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: " + d.name + "}\n" +
		"spec: {selectors: [{cel: {expression: 'device.driver == \"" + d.name + "\"'}}]}\n"
	assert.Must(d.t, assert.ErrorOf(plane.Kubectl(d.t.Context(), class, "apply", "--filename=-")))
	d.run()
	d.t.Cleanup(d.close)
	d.awaitSlices(1)
}

func (d *deviceDriver) run() {
	d.t.Helper()
	assert.Must(d.t, os.MkdirAll(filepath.Join(d.node.RootDir(), "plugins", d.name), 0o750))
	command := exec.Command(plane.Binary(d.arguments[0]), d.arguments[1:]...)
	process := assert.Get(machine.StartProcess(command, filepath.Join(d.t.TempDir(), "driver.log"))).Must(d.t)
	d.process = process
}

// hang has the driver stand still; goOn ends that.
func (d *deviceDriver) hang() { d.signal(syscall.SIGSTOP) }
func (d *deviceDriver) goOn() { d.signal(syscall.SIGCONT) }

func (d *deviceDriver) signal(signal os.Signal) {
	d.t.Helper()
	assert.Must(d.t, d.process.Signal(signal))
}

// close ends the driver, and removes what a driver that was killed has left. The test's own
// context has ended.
func (d *deviceDriver) close() {
	ctx := context.Background()
	if d.t.Failed() {
		d.t.Logf("the end of the log of driver %s:\n%s", d.name, d.process.LastLines(20))
	}
	err := d.process.Kill()
	for _, file := range d.files() {
		err = errors.Join(err, os.Remove(file))
	}
	_, deleted := plane.Kubectl(ctx, "", "delete", "resourceslices", "--field-selector=spec.driver="+d.name)
	err = errors.Join(err, deleted, client.ResourceV1().DeviceClasses().Delete(ctx, d.name, metav1.DeleteOptions{}))
	assert.NoError(d.t, err)
}

// files are the descriptions of the devices that are prepared.
func (d *deviceDriver) files() []string {
	files, _ := filepath.Glob(filepath.Join(cdiFolder, d.described)) // the pattern is valid
	return files
}

// wantPrepared says how many devices have to be prepared now.
func (d *deviceDriver) wantPrepared(want int) {
	d.t.Helper()
	files := d.files()
	assert.True(d.t, len(files) == want, "%d devices are prepared, want %d: %v", len(files), want, files)
}

// awaitPrepared waits until a number of devices is prepared.
func (d *deviceDriver) awaitPrepared(want int) {
	d.t.Helper()
	d.await("devices that are prepared", func(context.Context) (bool, error) { return len(d.files()) == want, nil })
}

// awaitSlices waits until the API server knows of the driver's devices, or not any more.
func (d *deviceDriver) awaitSlices(want int) {
	d.t.Helper()
	d.await("ResourceSlices of the driver", func(ctx context.Context) (bool, error) {
		found, err := client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.driver=" + d.name})
		return err == nil && len(found.Items) == want, nil
	})
}

// awaitAsked waits until the agent has noted that the driver is asked about a claim.
func (d *deviceDriver) awaitAsked(claim string) {
	d.t.Helper()
	d.await("note of the claim", func(context.Context) (bool, error) {
		text, err := os.ReadFile(filepath.Join(d.node.RootDir(), "dra_manager_state"))
		return err == nil && strings.Contains(string(text), `\"ClaimName\":\"`+claim+`\"`), nil
	})
}

func (d *deviceDriver) await(what string, condition wait.ConditionWithContextFunc) {
	d.t.Helper()
	err := wait.PollUntilContextTimeout(d.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if d.process.HasEnded() {
			return false, errors.New("the driver has ended")
		}
		return condition(ctx)
	})
	assert.Require(d.t, err == nil, "%s: %v", what, err)
}
