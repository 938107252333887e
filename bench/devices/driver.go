package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/worker/criconfig"
)

const (
	// cdiFolder is where runtimes look for devices that are named to them.
	cdiFolder = "/var/run/cdi"
	// sampleResource is what the sample device plugin has two of.
	sampleResource v1.ResourceName = "example.com/resource"
	// exampleDriver is the name of dra-example-driver, and of its DeviceClass.
	exampleDriver = "gpu.example.com"
)

// driver is a driver's process.
type driver struct {
	process *machine.Process
	// clean removes what it leaves when it is killed.
	clean func() error
}

// start starts a driver.
func (s *side) start(command *exec.Cmd, clean func() error) (*driver, error) {
	if err := os.MkdirAll(cdiFolder, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat(command.Path); err != nil {
		return nil, fmt.Errorf("%w: run `make drivers` first", err)
	}
	process, err := machine.StartProcess(command, filepath.Join(s.bench.logs, filepath.Base(command.Path)+".log"))
	return &driver{process, clean}, err
}

// end ends the driver. If something has failed, the end of its log is in the error.
func (d *driver) end(failed bool) (err error) {
	if failed {
		err = fmt.Errorf("the end of the log of %s:\n%s", d.process.Name, d.process.LastLines(20))
	}
	return errors.Join(err, d.process.Kill(), d.clean())
}

// runSamplePlugin starts upstream's sample device plugin. Its folders can't be chosen, nor the
// kubelet's for device plugins: beside lifepod it runs where /var/lib/kubelet is the node's.
func runSamplePlugin(ctx context.Context, s *side) (*driver, error) {
	awaitDevices := func(count int64) error {
		return s.Member.AwaitNode(ctx, fmt.Sprintf("to have %d devices", count), func(node *v1.Node) bool {
			usable := node.Status.Allocatable[sampleResource]
			return usable.Value() == count
		})
	}
	if err := awaitDevices(0); err != nil { // the turn before has left it otherwise
		return nil, err
	}
	command := exec.Command(s.Plane.Binary("sample-device-plugin"))
	if s.Name == testbed.Lifepod {
		const script = `mount -t tmpfs none /var/lib && mkdir /var/lib/kubelet && mount --bind . /var/lib/kubelet && exec "$0"`
		command = exec.Command("unshare", append([]string{"--mount", "sh", "-c", script}, command.Args...)...)
	}
	command.Dir, command.Env = s.Member.RootDir(), append(os.Environ(), "CDI_ENABLED=1")
	d, err := s.start(command, func() error {
		return remove(filepath.Join(cdiFolder, "example.com.json"), "/tmp/Dev-1", "/tmp/Dev-2", "/tmp/CDI-Dev-1", "/tmp/CDI-Dev-2")
	})
	if err != nil {
		return nil, err
	}
	if err := awaitDevices(2); err != nil {
		return nil, errors.Join(err, d.end(true))
	}
	return d, nil
}

// runExampleDriver starts dra-example-driver, which has eight GPUs that are none.
func runExampleDriver(ctx context.Context, s *side) (*driver, error) {
	plugins := filepath.Join(s.Member.RootDir(), "plugins")
	if err := os.MkdirAll(filepath.Join(plugins, exampleDriver), 0o750); err != nil {
		return nil, err
	}
	slices, ofDriver := s.API.ResourceV1().ResourceSlices(), metav1.ListOptions{FieldSelector: "spec.driver=" + exampleDriver}
	command := exec.Command(s.Plane.Binary("dra-example-kubeletplugin"), "--kubeconfig="+s.Plane.Kubeconfig(), "--node-name="+s.Member.Name,
		"--cdi-root="+cdiFolder, "--kubelet-registrar-directory-path="+filepath.Join(s.Member.RootDir(), "plugins_registry"),
		"--kubelet-plugins-directory-path="+plugins)
	d, err := s.start(command, func() error {
		described, err := filepath.Glob(filepath.Join(cdiFolder, "k8s."+exampleDriver+"-gpu_*"))
		return errors.Join(err, remove(described...), slices.DeleteCollection(context.WithoutCancel(ctx), metav1.DeleteOptions{}, ofDriver))
	})
	if err != nil {
		return nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, testbed.Patience, true, func(ctx context.Context) (bool, error) {
		found, err := slices.List(ctx, ofDriver)
		return err == nil && len(found.Items) > 0, err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the driver's devices: %w", err), d.end(true))
	}
	return d, nil
}

func remove(files ...string) error {
	var errs []error
	for _, file := range files {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// describeOwn describes two devices for the bare calls, which have no driver, and returns the
// file's path.
func describeOwn() (string, error) {
	const description = `{"cdiVersion": "0.5.0", "kind": "bench.lifepod.dev/gpu", "devices": [
  {"name": "0", "containerEdits": {"env": ["GPU_DEVICE_0=gpu-0"]}},
  {"name": "1", "containerEdits": {"env": ["GPU_DEVICE_1=gpu-1"]}}
]}`
	path := filepath.Join(cdiFolder, "bench.lifepod.dev-gpu.json")
	return path, errors.Join(os.MkdirAll(cdiFolder, 0o755), os.WriteFile(path, []byte(description), 0o644))
}

// assignOwn gives these devices to the main container.
func assignOwn(container *v1.Container) (a criconfig.Assigned) {
	if container.Name == "main" {
		a.CDIDevices = []string{"bench.lifepod.dev/gpu=0", "bench.lifepod.dev/gpu=1"}
	}
	return a
}
