// Package instance starts and ends a real lifepod up for tests.
package instance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/e2e/machine"
)

const Node = "n1"

// Configuration is a KubeletConfiguration for the nodes of tests. The machine's disk may be
// nearly full, which is not what they are about.
const Configuration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard: {memory.available: 0%, nodefs.available: 0%, imagefs.available: 0%}
`

type Config struct {
	Program string   // lifepod
	Root    string   // state folder; one of its own below the temporary folder if empty
	Args    []string // further flags of up; without --config its node has Configuration
	Name    string   // of its node; Node if empty
	Unnamed bool     // it is not told the name
	Env     []string // of it, besides the environment here
	// Within, if there is one, does something on a thread in another namespace: what
	// is started there belongs there.
	Within func(func() error) error
}

// Instance is a lifepod up, running or not.
type Instance struct {
	Config
	Kubeconfig string

	command *exec.Cmd
	ended   chan struct{}
	log     machine.Log
}

// Program is the lifepod to test: $LIFEPOD, else bin/lifepod of the repository
// whose root is at dir.
func Program(dir string) (string, error) {
	program := os.Getenv("LIFEPOD")
	if program == "" {
		program = filepath.Join(dir, "bin", "lifepod")
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("%w: run `make build` first, or set LIFEPOD", err)
	}
	return program, nil
}

// Suite runs a package's tests against one lifepod up and ends the process with their exit code: all that a TestMain does. It shows the
// log of lifepod up if one fails.
func Suite(dir string, c Config, run func(up *Instance, client kubernetes.Interface) int) {
	flag.Parse()
	code, err := suite(dir, c, run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func suite(dir string, c Config, run func(*Instance, kubernetes.Interface) int) (code int, err error) {
	ctx := context.Background()
	if c.Program, err = Program(dir); err != nil {
		return 1, err
	}
	if err := machine.Parallel(); err != nil {
		return 1, err
	}
	up, err := Start(ctx, c)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, up.Close(ctx)) }()
	client, err := up.Client()
	if err != nil {
		return 1, err
	}
	if code = run(up, client); code != 0 {
		fmt.Fprintln(os.Stderr, up.Log())
	}
	return code, nil
}

// Start starts one and waits until it is ready.
func Start(ctx context.Context, c Config) (*Instance, error) {
	i := &Instance{Config: c}
	if i.Root == "" {
		root, err := os.MkdirTemp("", "lp-up-")
		if err != nil {
			return nil, err
		}
		i.Root = root
	}
	if err := i.Run(ctx); err != nil {
		return nil, errors.Join(err, i.Close(context.WithoutCancel(ctx)))
	}
	return i, nil
}

// Run starts the process, again if it was killed or stopped, and waits until the
// cluster is ready.
func (i *Instance) Run(ctx context.Context) error {
	if i.Name == "" {
		i.Name = Node
	}
	if i.Within == nil {
		i.Within = func(do func() error) error { return do() }
	}
	args := append([]string{"up", "--root", i.Root, "--log-level", "info"}, i.Args...)
	if !i.Unnamed {
		args = append(args, "--node-name", i.Name)
	}
	configuration := i.Root + ".kubelet.yaml" // gone when the process has ended
	if !slices.Contains(args, "--config") {
		if err := os.WriteFile(configuration, []byte(Configuration), 0o600); err != nil {
			return err
		}
		args = append(args, "--config", configuration)
	}
	i.command, i.ended = exec.Command(i.Program, args...), make(chan struct{})
	i.command.Stderr = &i.log
	i.command.Env = append(os.Environ(), i.Env...)
	out, err := i.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := i.Within(i.command.Start); err != nil {
		return errors.Join(err, os.RemoveAll(configuration))
	}
	ready := make(chan string, 1)
	go func() {
		defer close(i.ended)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), "export KUBECONFIG="); ok {
				ready <- path
			}
			if err != nil {
				break
			}
		}
		_ = i.command.Wait() // how it ended is in its log
		_ = os.RemoveAll(configuration)
	}()
	select {
	case i.Kubeconfig = <-ready:
		return nil
	case <-i.ended:
		return fmt.Errorf("lifepod up ended: %s\n%s", i.command.ProcessState, i.Log())
	case <-ctx.Done():
		return fmt.Errorf("wait for lifepod up: %w\n%s", context.Cause(ctx), i.Log())
	}
}

// Log is what it has logged so far.
func (i *Instance) Log() string { return i.log.String() }

func (i *Instance) Pid() int { return i.command.Process.Pid }

// Kill ends the process with KILL and waits until it is gone.
func (i *Instance) Kill() { i.signal(syscall.SIGKILL) }

// Stop ends the process with TERM and waits until it is gone; pods run on.
func (i *Instance) Stop() { i.signal(syscall.SIGTERM) }

func (i *Instance) signal(s syscall.Signal) {
	if i.command == nil || i.command.Process == nil {
		return
	}
	_ = i.command.Process.Signal(s) // it may have ended
	<-i.ended
}

// Close ends everything and removes what it had; it fails if something is left.
func (i *Instance) Close(ctx context.Context) error {
	command := exec.CommandContext(ctx, i.Program, "down", "--root", i.Root, "--purge", "--grace-period", "1s")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := i.Within(command.Start)
	if err == nil {
		err = command.Wait()
	}
	if err != nil {
		err = fmt.Errorf("lifepod down --purge: %w: %s", err, out.String())
		i.Kill()
	}
	if i.ended != nil {
		<-i.ended
	}
	if left := (machine.Root{Dir: i.Root}).Left(); len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("left behind:\n  %s", strings.Join(left, "\n  ")))
	}
	return errors.Join(err, os.RemoveAll(i.Root))
}

// Invitation is a token, and the other words that lifepod token create prints for
// lifepod join.
func (i *Instance) Invitation(ctx context.Context) (token string, args []string, err error) {
	out, err := exec.CommandContext(ctx, i.Program, "token", "create", "--root", i.Root, "--print-join-command").Output()
	if err != nil {
		return "", nil, fmt.Errorf("token create: %w", err)
	}
	words := strings.Fields(string(out)) // echo TOKEN | sudo lifepod join …
	if len(words) < 7 || words[0] != "echo" || words[5] != "join" {
		return "", nil, fmt.Errorf("token create printed %s", out)
	}
	return words[1], words[6:], nil
}

// RESTConfig is the administrator's. Each call makes a new one.
func (i *Instance) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", i.Kubeconfig)
	if err == nil {
		config.QPS = -1
	}
	return config, err
}

// Client is the administrator's.
func (i *Instance) Client() (kubernetes.Interface, error) {
	config, err := i.RESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// Kubectl runs lifepod kubectl with input, and returns what it prints to stdout.
func (i *Instance) Kubectl(ctx context.Context, input string, args ...string) (string, error) {
	command := i.KubectlCommand(ctx, args...)
	var out, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &out, &stderr
	err := i.Within(command.Start)
	if err == nil {
		err = command.Wait()
	}
	if err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return out.String(), nil
}

// KubectlCommand is lifepod kubectl, not started.
func (i *Instance) KubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, i.Program, append([]string{"kubectl", "--root", i.Root}, args...)...)
}
