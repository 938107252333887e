// Package stock runs the container runtime as upstream ships it, for comparison with the one
// that lifepod carries: containerd with its defaults, its shim, runc, and the chain of CNI
// plugins that containerd's own installation script configures. `make stock-runtime` builds it.
package stock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/vishvananda/netlink"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
)

// Config is where a runtime gets its parts from.
type Config struct {
	Programs string // the folder with bin and cni, as make stock-runtime leaves it
	Images   string // an archive with the images that are needed
	Root     string // all that the runtime keeps goes there
}

const (
	subnet = "198.19.0.0/16" // of pods
	bridge = "lpstock0"      // made by the plugins, removed by Close
)

type Runtime struct {
	Client  *cri.Client
	config  Config
	command *exec.Cmd
	ended   chan error
}

// startPatience is how long containerd may take until CRI answers, and as long to end.
const startPatience = 30 * time.Second

// Open starts a containerd and loads the images.
func Open(ctx context.Context, c Config) (_ *Runtime, err error) {
	if c.Programs, err = filepath.Abs(c.Programs); err == nil { // the shim works in a folder of its own
		err = c.write()
	}
	if err != nil {
		return nil, fmt.Errorf("stock runtime: %w", err)
	}
	log, err := os.Create(filepath.Join(c.Root, "containerd.log"))
	if err != nil {
		return nil, fmt.Errorf("stock runtime: %w", err)
	}
	defer log.Close()
	r := &Runtime{config: c, ended: make(chan error, 1)}
	r.command = exec.Command(filepath.Join(c.Programs, "bin", "containerd"), "--config", c.file()) //nolint:noctx // Close ends it
	r.command.Stdout, r.command.Stderr = log, log
	r.command.Env = append(os.Environ(), "PATH="+filepath.Join(c.Programs, "bin")+":"+os.Getenv("PATH"))
	r.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := r.command.Start(); err != nil {
		return nil, fmt.Errorf("stock runtime: %w; make stock-runtime builds it", err)
	}
	go func() { r.ended <- r.command.Wait() }()
	if err := r.load(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("stock runtime: %w (its log: %s)", err, log.Name()), r.Close())
	}
	return r, nil
}

// load connects to CRI when it answers, and loads the images.
func (r *Runtime) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	socket := r.config.socket()
	for {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("containerd does not listen on %s", socket)
		case <-time.After(10 * time.Millisecond):
		}
	}
	images, err := os.Open(r.config.Images)
	if err != nil {
		return err
	}
	defer images.Close()
	if _, err := bundle.LoadImages(ctx, socket, images); err != nil {
		return err
	}
	r.Client, err = cri.Dial("unix://" + socket)
	return err
}

// Close ends containerd and removes the bridge; the pods are to be gone already.
func (r *Runtime) Close() error {
	var errs []error
	if r.Client != nil {
		errs = append(errs, r.Client.Close())
	}
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		errs = append(errs, err)
	}
	select {
	case err := <-r.ended:
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited { // a signal is how it ends
			errs = append(errs, err)
		}
	case <-time.After(startPatience):
		errs = append(errs, errors.New("containerd does not end"), r.command.Process.Kill())
	}
	if link, err := netlink.LinkByName(bridge); err == nil {
		errs = append(errs, netlink.LinkDel(link))
	}
	errs = append(errs, os.RemoveAll(state))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop the stock runtime: %w", err)
	}
	return nil
}

func (c Config) file() string    { return filepath.Join(c.Root, "config.toml") }
func (c Config) socket() string  { return filepath.Join(c.Root, "containerd.sock") }
func (c Config) plugins() string { return filepath.Join(c.Root, "cni", "net.d") }

// state is for upstream's /run/containerd.
const state = "/run/" + bridge

type table = map[string]any

// write writes the configuration of containerd, which says no more than where things are, and
// that of the network.
func (c Config) write() error {
	config, err := toml.Marshal(table{
		"version": 3, "root": filepath.Join(c.Root, "root"), "state": state,
		"grpc": table{"address": c.socket()},
		"plugins": table{
			"io.containerd.cri.v1.images": table{"pinned_images": table{"sandbox": bundle.PauseImage}},
			"io.containerd.cri.v1.runtime": table{
				"restrict_oom_score_adj": true, // these machines may lack CAP_SYS_RESOURCE
				"cni":                    table{"bin_dirs": []string{filepath.Join(c.Programs, "cni")}, "conf_dir": c.plugins()},
			},
		},
	})
	if err != nil {
		return err
	}
	// As script/setup/install-cni of containerd writes it, for one family of addresses.
	network, err := json.Marshal(table{
		"cniVersion": "1.0.0", "name": bridge,
		"plugins": []table{
			{
				"type": "bridge", "bridge": bridge, "isGateway": true, "ipMasq": true, "promiscMode": true,
				"ipam": table{
					"type": "host-local", "dataDir": filepath.Join(c.Root, "cni", "networks"),
					"ranges": [][]table{{{"subnet": subnet}}}, "routes": []table{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": table{"portMappings": true}},
		},
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.plugins(), 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(c.file(), config, 0o600),
		os.WriteFile(filepath.Join(c.plugins(), "10-stock.conflist"), network, 0o600),
	)
}
