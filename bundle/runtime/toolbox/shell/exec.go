package shell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// isMain tells the shell itself from its subshells, which run concurrently.
// The library doesn't tell them apart, but for a pointer that it keeps to itself.
func (sh *shell) isMain(hc interp.HandlerContext) bool {
	return reflect.ValueOf(hc).FieldByName("runner").Pointer() == reflect.ValueOf(sh.runner).Pointer()
}

// onExec runs what is neither a function nor a builtin.
func (sh *shell) onExec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	switch args[0] {
	case replaced + "wait":
		return sh.thenTraps(ctx, sh.wait(ctx, hc, args[1:]))
	case replaced + "kill":
		return kill(hc, args[1:])
	case replaced + "trap":
		fmt.Fprintf(hc.Stderr, "trap: %s\n", args[1])
		return interp.ExitStatus(1)
	case replaced + "exec":
		return sh.exec(hc, args[1:])
	}
	status := sh.spawn(hc, args)
	if sh.isMain(hc) {
		return sh.thenTraps(ctx, status)
	}
	return status
}

// thenTraps runs the actions of the signals that arrived during a command, and
// gives its status, unless an action ends the shell.
func (sh *shell) thenTraps(ctx context.Context, status error) error {
	actions := sh.traps.pending()
	if len(actions) == 0 {
		return status
	}
	err := interp.HandlerCtx(ctx).Builtin(ctx, []string{"eval", strings.Join(actions, "\n")})
	if sh.runner.Exited() {
		return err
	}
	return status
}

// wait is the builtin, but returns with 128 plus the number when a trapped
// signal arrives.
func (sh *shell) wait(ctx context.Context, hc interp.HandlerContext, args []string) error {
	done := make(chan error, 1)
	go func() { done <- hc.Builtin(ctx, append([]string{"wait"}, args...)) }()
	select {
	case err := <-done:
		return err
	case s := <-sh.traps.arrived:
		return interp.ExitStatus(128 + s)
	}
}

// spawn runs a program and waits for it.
func (sh *shell) spawn(hc interp.HandlerContext, args []string) error {
	cmd, err := command(hc, args)
	if err == nil {
		err = toolbox.StartChild(cmd)
		if errors.Is(err, syscall.ENOEXEC) {
			// A script without "#!" is one for sh.
			cmd, err = command(hc, append([]string{"/proc/self/exe", "sh", cmd.Path}, args[1:]...))
			if err == nil {
				err = toolbox.StartChild(cmd)
			}
		}
	}
	if err != nil {
		fmt.Fprintf(hc.Stderr, "%s: %v\n", args[0], err)
		return notStarted(err)
	}
	err = toolbox.WaitChild(cmd)
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case err == nil:
		return nil
	case !ok || status.ExitStatus() == 0: // its output could not be copied
		return interp.ExitStatus(126)
	case status.Signaled():
		return interp.ExitStatus(128 + status.Signal())
	}
	return interp.ExitStatus(status.ExitStatus())
}

func notStarted(err error) error {
	if errors.Is(err, os.ErrPermission) {
		return interp.ExitStatus(126)
	}
	return interp.ExitStatus(127)
}

func command(hc interp.HandlerContext, args []string) (*exec.Cmd, error) {
	path, err := interp.LookPathDir(hc.Dir, hc.Env, args[0])
	if err != nil {
		return nil, errors.New("not found")
	}
	return &exec.Cmd{
		Path: path, Args: args, Env: environ(hc.Env), Dir: hc.Dir,
		Stdin: hc.Stdin, Stdout: hc.Stdout, Stderr: hc.Stderr,
	}, nil
}

// environ lists the exported variables; the innermost scope comes last and wins.
func environ(env expand.Environ) []string {
	exported := map[string]string{}
	for name, v := range env.Each {
		switch {
		case !v.IsSet():
			delete(exported, name) // it hides one further out
		case v.Exported && v.Kind == expand.String:
			exported[name] = name + "=" + v.String()
		}
	}
	return slices.Sorted(maps.Values(exported))
}

// exec replaces this process by the program, as process 1 too. With redirected
// streams that aren't files it runs it and ends with its code.
func (sh *shell) exec(hc interp.HandlerContext, args []string) error {
	cmd, err := command(hc, args)
	if err != nil {
		fmt.Fprintf(hc.Stderr, "%s: %v\n", args[0], err)
		os.Exit(127)
	}
	if err := os.Chdir(hc.Dir); err != nil {
		fmt.Fprintf(hc.Stderr, "%s: %v\n", args[0], err)
		os.Exit(126)
	}
	for fd, stream := range []any{hc.Stdin, hc.Stdout, hc.Stderr} {
		file, ok := stream.(*os.File)
		if !ok {
			os.Exit(code(sh.spawn(hc, args)))
		}
		if int(file.Fd()) != fd {
			if err := syscall.Dup3(int(file.Fd()), fd, 0); err != nil {
				fmt.Fprintf(hc.Stderr, "%s: %v\n", args[0], err)
				os.Exit(126)
			}
		}
	}
	err = syscall.Exec(cmd.Path, args, cmd.Env)
	fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
	os.Exit(126)
	return nil
}

func code(err error) int {
	if status, ok := errors.AsType[interp.ExitStatus](err); ok {
		return int(status)
	}
	return 0
}
