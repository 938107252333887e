package toolbox

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/pflag"
)

// Applet does the work of one command and gives its exit code.
type Applet func(*Call) int

// Call is one run of an applet.
type Call struct {
	// Name is the applet's, Args are what follows it.
	Name string
	Args []string

	Stdin  *os.File
	Stdout io.Writer
	Stderr io.Writer

	ending *ending
}

// Fail prints an error in the way of all applets and gives code back.
func (c *Call) Fail(code int, err error) int {
	fmt.Fprintf(c.Stderr, "%s: %v\n", c.Name, err)
	return code
}

// Flags starts the applet's options; usage is what follows the name.
func (c *Call) Flags(usage string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(c.Name, pflag.ContinueOnError)
	flags.SetOutput(c.Stderr)
	flags.Usage = func() {
		fmt.Fprintf(c.Stderr, "usage: %s %s\n%s", c.Name, usage, flags.FlagUsages())
	}
	return flags
}

// Usage is the exit code of a command line that isn't understood.
const Usage = 2

// Program is a set of applets behind one binary.
type Program struct {
	// Name is the binary's own name: `toolbox sleep 1` is `sleep 1`.
	Name    string
	Applets map[string]Applet
	// Elsewhere names the applets of Sibling, a program in the same folder.
	Elsewhere []string
	Sibling   string
}

// Main runs the applet that args, the whole command line, names and never
// returns.
func (p Program) Main(args []string) {
	name, rest := filepath.Base(args[0]), args[1:]
	if name == p.Name || p.find(name) == nil && !slices.Contains(p.Elsewhere, name) {
		if len(rest) == 0 || rest[0] == "--list" {
			p.list()
			os.Exit(0)
		}
		name, rest = rest[0], rest[1:]
	}
	if slices.Contains(p.Elsewhere, name) {
		p.execSibling(name, rest)
	}
	applet := p.find(name)
	if applet == nil {
		fmt.Fprintf(os.Stderr, "%s: no applet %q, %s --list prints their names\n", p.Name, name, p.Name)
		os.Exit(127)
	}
	c := &Call{Name: name, Args: rest, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, ending: &ending{}}
	c.ending.watch(c)
	reapAsInit()
	os.Exit(applet(c))
}

func (p Program) find(name string) Applet { return p.Applets[name] }

func (p Program) list() {
	names := slices.Concat(slices.Collect(maps.Keys(p.Applets)), p.Elsewhere)
	slices.Sort(names)
	for _, name := range names {
		fmt.Println(name)
	}
}

// execSibling replaces this process by the program that has the applet.
func (p Program) execSibling(name string, args []string) {
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(filepath.Join(filepath.Dir(self), p.Sibling), append([]string{name}, args...), os.Environ())
	}
	fmt.Fprintf(os.Stderr, "%s: %s: %v\n", name, p.Sibling, err)
	os.Exit(126)
}
