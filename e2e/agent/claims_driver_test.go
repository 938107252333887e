package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
)

// cdiFolder is where runtimes look for the devices that drivers describe.
const cdiFolder = "/var/run/cdi"

// deviceDriver is upstream's test driver, with four devices for resource claims. It sets a
// variable in containers that have one.
type deviceDriver struct {
	t       *testing.T
	name    string // which is that of its DeviceClass, too
	node    *member.Member
	process *machine.Process
}

// newDeviceDriver starts a driver on a node.
func newDeviceDriver(t *testing.T, node *member.Member, name string) *deviceDriver {
	t.Helper()
	d := &deviceDriver{t: t, name: name, node: node}
	class := "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: " + name + "}\n" +
		"spec: {selectors: [{cel: {expression: 'device.driver == \"" + name + "\"'}}]}\n"
	if _, err := plane.Kubectl(t.Context(), class, "apply", "--filename=-"); err != nil {
		t.Fatal(err)
	}
	d.run()
	t.Cleanup(d.close)
	d.awaitSlices(1)
	return d
}

func (d *deviceDriver) run() {
	d.t.Helper()
	plugins := filepath.Join(d.node.Root.Dir, "plugins")
	if err := os.MkdirAll(filepath.Join(plugins, d.name), 0o750); err != nil {
		d.t.Fatal(err)
	}
	command := exec.Command(plane.Binary("test-driver"), "--kubeconfig="+plane.Kubeconfig(), "--drivername="+d.name, "-v=5", "kubelet-plugin",
		"--node-name="+d.node.Name, "--plugin-registration-path="+filepath.Join(d.node.Root.Dir, "plugins_registry"),
		"--datadir="+plugins, "--cdi-dir="+cdiFolder)
	process, err := machine.StartProcess(command, filepath.Join(d.t.TempDir(), "driver.log"))
	if err != nil {
		d.t.Fatal(err)
	}
	d.process = process
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
	if err = errors.Join(err, deleted, client.ResourceV1().DeviceClasses().Delete(ctx, d.name, metav1.DeleteOptions{})); err != nil {
		d.t.Error(err)
	}
}

// files are the descriptions of the devices that are prepared.
func (d *deviceDriver) files() []string {
	files, _ := filepath.Glob(filepath.Join(cdiFolder, d.name+"-*")) // the pattern is valid
	return files
}

// wantPrepared says how many devices have to be prepared now.
func (d *deviceDriver) wantPrepared(want int) {
	d.t.Helper()
	if files := d.files(); len(files) != want {
		d.t.Errorf("%d devices are prepared, want %d: %v", len(files), want, files)
	}
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
		text, err := os.ReadFile(filepath.Join(d.node.Root.Dir, "dra_manager_state"))
		return err == nil && strings.Contains(string(text), `\"ClaimName\":\"`+claim+`\"`), nil
	})
}

func (d *deviceDriver) await(what string, condition wait.ConditionWithContextFunc) {
	d.t.Helper()
	if err := wait.PollUntilContextTimeout(d.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if d.process.HasEnded() {
			return false, errors.New("the driver has ended")
		}
		return condition(ctx)
	}); err != nil {
		d.t.Fatalf("%s: %v", what, err)
	}
}
