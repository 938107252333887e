package toolbox

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"
	"github.com/u-root/u-root/pkg/core"
	"github.com/u-root/u-root/pkg/core/base64"
	"github.com/u-root/u-root/pkg/core/cat"
	"github.com/u-root/u-root/pkg/core/chmod"
	"github.com/u-root/u-root/pkg/core/cp"
	"github.com/u-root/u-root/pkg/core/find"
	"github.com/u-root/u-root/pkg/core/ls"
	"github.com/u-root/u-root/pkg/core/mkdir"
	"github.com/u-root/u-root/pkg/core/mktemp"
	"github.com/u-root/u-root/pkg/core/mv"
	"github.com/u-root/u-root/pkg/core/rm"
	"github.com/u-root/u-root/pkg/core/touch"
	"github.com/u-root/u-root/pkg/core/xargs"
)

// Applet does the work of one command.
type Applet func(*Call) error

// Call is one run of an applet.
type Call struct {
	// Name is the applet's, Args are what follows it.
	Name string
	Args []string
	// Flags are the applet's options; Parse reads them from Args.
	Flags *pflag.FlagSet

	Stdin  *os.File
	Stdout io.Writer
	Stderr io.Writer

	ending *ending
}

// Exit is an exit code, as an error. Who returns it has said why.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a command line that isn't understood.
type usageError struct{ error }

// Usage makes an error one about the command line: exit code 2.
func Usage(err error) error { return usageError{err} }

// Parse reads the options and gives the arguments, at least and at most so many; most < 0 is any
// number. The usage is what follows the name.
func (c *Call) Parse(usage string, least, most int) ([]string, error) {
	c.Flags.Usage = func() {
		fmt.Fprintf(c.Stderr, "usage: %s %s\n%s", c.Name, usage, c.Flags.FlagUsages())
	}
	c.ending.mu.Lock() // it has some of the options
	defer c.ending.mu.Unlock()
	if err := c.Flags.Parse(c.Args); err != nil {
		return nil, Usage(err)
	}
	if n := c.Flags.NArg(); n < least || most >= 0 && n > most {
		return nil, Usage(fmt.Errorf("want %s", usage))
	}
	return c.Flags.Args(), nil
}

// code tells an error, and gives its exit code.
func (c *Call) code(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[Exit](err); ok {
		return int(exit)
	}
	fmt.Fprintf(c.Stderr, "%s: %v\n", c.Name, err)
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

// Main runs the applet that the command line names and never returns. Under another name, its
// own, the program takes the applet's as its first argument: `toolbox sleep 1` is `sleep 1`.
func Main(applets map[string]Applet) {
	program := filepath.Base(os.Args[0])
	name, args := program, os.Args[1:]
	if applets[name] == nil {
		if len(args) == 0 || args[0] == "--list" {
			for _, name := range slices.Sorted(maps.Keys(applets)) {
				fmt.Println(name)
			}
			os.Exit(0)
		}
		name, args = args[0], args[1:]
	}
	applet := applets[name]
	if applet == nil {
		fmt.Fprintf(os.Stderr, "%s: no applet %q, %s --list prints their names\n", program, name, program)
		os.Exit(127)
	}
	c := &Call{Name: name, Args: args, Flags: pflag.NewFlagSet(name, pflag.ContinueOnError), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	c.Flags.SetOutput(c.Stderr)
	c.ending = watch(c)
	reapAsInit()
	os.Exit(c.code(applet(c)))
}

// Applets are those that need neither the shell nor the network.
func Applets() map[string]Applet {
	return map[string]Applet{
		"true":       func(*Call) error { return nil },
		"false":      func(*Call) error { return Exit(1) },
		"date":       date,
		"eat-memory": eatMemory,
		"env":        env,
		"grep":       grep,
		"head":       head,
		"hostname":   hostname,
		"id":         id,
		"ln":         ln,
		"ps":         ps,
		"readlink":   readlink,
		"seq":        seq,
		"sleep":      sleep,
		"stat":       stat,
		"tail":       tail,
		"wc":         wc,
		"write":      write,

		// What u-root has as packages.
		"base64": coreutil(base64.New),
		"cat":    coreutil(cat.New),
		"chmod":  coreutil(chmod.New),
		"cp":     coreutil(cp.New),
		"find":   coreutil(find.New),
		"ls":     coreutil(ls.New),
		"mkdir":  coreutil(mkdir.New),
		"mktemp": coreutil(mktemp.New),
		"mv":     coreutil(mv.New),
		"rm":     coreutil(rm.New),
		"touch":  coreutil(touch.New),
		"xargs":  coreutil(xargs.New),
	}
}

func coreutil(command func() core.Command) Applet {
	return func(c *Call) error {
		command := command()
		command.SetIO(c.Stdin, c.Stdout, c.Stderr)
		command.SetLookupEnv(os.LookupEnv)
		return command.Run(c.Args...)
	}
}
