package kwok

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
)

// UsualParallelism is KWOK's default of each of its three limits of what is done at the same time.
const UsualParallelism = 4

// Config is what a controller is like.
type Config struct {
	Plane *controlplane.ControlPlane
	Dir   string // an empty folder for its files
	// Parallelism is how many stages of pods, stages of nodes, and Leases it works on at the same time; 0: UsualParallelism.
	Parallelism int
}

// Controller is KWOK's controller, which looks after all Nodes of the cluster. It registers none: whoever wants a Node
// creates it.
type Controller struct {
	version string
	log     string // file
	process *machine.Process
}

// patience is how long it may take until it serves.
const patience = 90 * time.Second

// Start starts it and waits until it serves. After an error nothing of it is left.
func Start(ctx context.Context, config Config) (*Controller, error) {
	c := &Controller{log: filepath.Join(config.Dir, "kwok.log")}
	if err := c.start(ctx, config); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Controller) start(ctx context.Context, config Config) error {
	program := config.Plane.Binary("kwok")
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("%w: run `make kwok` first", err)
	}
	folder, err := c.find(ctx)
	if err != nil {
		return err
	}
	text, err := configuration(folder, cmp.Or(config.Parallelism, UsualParallelism))
	if err != nil {
		return err
	}
	file := filepath.Join(config.Dir, "kwok.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	port, err := machine.FreePort()
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	command := exec.Command(program, "--config", file, "--kubeconfig", config.Plane.Kubeconfig(), "--server-address", address)
	command.Env = []string{"HOME=" + config.Dir, "PATH=" + os.Getenv("PATH")}
	if c.process, err = machine.StartProcess(command, c.log); err != nil {
		return err
	}
	return c.await(ctx, "http://"+address+"/healthz")
}

// find finds the sources of KWOK in the version that e2e/controlplane/kwok pins.
func (c *Controller) find(ctx context.Context) (folder string, err error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find lifepod's module: %w", err)
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "sigs.k8s.io/kwok")
	list.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "e2e", "controlplane", "kwok")
	if out, err = list.Output(); err != nil {
		return "", fmt.Errorf("find the module of KWOK: %w", err)
	}
	c.version, folder, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return folder, nil
}

// await waits until it serves.
func (c *Controller) await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := healthy(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-c.process.Ended():
			return fmt.Errorf("KWOK has ended:\n%s", c.process.LastLines(20))
		case <-ctx.Done():
			return fmt.Errorf("KWOK does not serve: %w\n%s", err, c.process.LastLines(20))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func healthy(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// Version is that of its module.
func (c *Controller) Version() string { return c.version }

// PID is its process.
func (c *Controller) PID() int { return c.process.PID() }

// Ended is closed when it has ended, however that came.
func (c *Controller) Ended() <-chan struct{} { return c.process.Ended() }

// LastLines are the last ones of its log.
func (c *Controller) LastLines(count int) []byte { return c.process.LastLines(count) }

// Close ends it. Nodes and pods stay, and nobody looks after them.
func (c *Controller) Close() error {
	if c.process == nil {
		return nil
	}
	return c.process.Kill()
}
