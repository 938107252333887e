package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/term"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// shell is one run of sh.
type shell struct {
	call   *toolbox.Call
	runner *interp.Runner
	traps  *traps
}

// Run is the applet sh.
func Run(c *toolbox.Call) error {
	line, err := commandLine(c)
	if err != nil {
		return toolbox.Usage(err)
	}
	sh, err := newShell(c, append(append(line.options, "--"), line.params...))
	if err != nil {
		return err
	}
	if !line.interactive {
		return toolbox.Exit(sh.run(line.script))
	}
	code := newInteractive(sh).run()
	if sh.runner.Exited() {
		return toolbox.Exit(code)
	}
	return toolbox.Exit(sh.end(code))
}

func newShell(c *toolbox.Call, params []string) (*shell, error) {
	sh := &shell{call: c}
	runner, err := interp.New(
		interp.StdIO(c.Stdin, c.Stdout, c.Stderr),
		interp.Params(params...),
		interp.CallHandler(sh.onCall),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return sh.onExec }),
	)
	if err != nil {
		return nil, err
	}
	sh.runner = runner
	sh.traps = newTraps(c)
	return sh, nil
}

// newParser reads bash's grammar, a superset of what scripts for sh use.
func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// complain tells an error of the script, and gives its exit code.
func (sh *shell) complain(err error) int {
	fmt.Fprintf(sh.call.Stderr, "%s: %v\n", sh.call.Name, err)
	return 2
}

// line is what a command line of sh says.
type line struct {
	script          io.Reader
	params, options []string
	interactive     bool // the script is what a user types
}

// setOptions are those of the builtin `set` that sh takes, too.
const setOptions = "aefnux"

// commandLine finds the script and its parameters. A terminal as input has a user, and -i
// says so of anything else.
func commandLine(c *toolbox.Call) (l line, err error) {
	c.Flags.SetInterspersed(false)
	command := c.Flags.BoolP("command", "c", false, "the script is the first argument")
	user := c.Flags.BoolP("interactive", "i", false, "prompt for each line")
	c.Flags.BoolP("stdin", "s", false, "read the script from standard input")
	c.Flags.BoolP("login", "l", false, "it makes no difference")
	for _, letter := range setOptions {
		c.Flags.BoolP(string(letter), string(letter), false, "as for set")
	}
	args, err := c.Parse("[-OPTIONS] [-c SCRIPT [NAME [ARG…]]] [FILE [ARG…]]", 0, -1)
	if err != nil {
		return l, err
	}
	c.Flags.Visit(func(f *pflag.Flag) {
		if strings.Contains(setOptions, f.Name) {
			l.options = append(l.options, "-"+f.Name)
		}
	})
	switch {
	case *command && len(args) == 0:
		return l, errors.New("-c needs a script")
	case *command:
		l.script, l.params = strings.NewReader(args[0]), args[min(2, len(args)):]
		return l, nil
	case len(args) == 0:
		l.script, l.interactive = c.Stdin, *user || term.IsTerminal(int(c.Stdin.Fd()))
		return l, nil
	}
	l.script, err = os.Open(args[0])
	l.params = args[1:]
	return l, err
}

// run reads and runs one statement after the other, and gives the exit code.
func (sh *shell) run(script io.Reader) int {
	code := 0
	for stmt, err := range newParser().StmtsSeq(script) {
		if err != nil {
			return sh.complain(err)
		}
		code = sh.runNode(stmt)
		if sh.runner.Exited() {
			return code
		}
	}
	return sh.end(code)
}

// end runs what is to be run at the end of the script, and gives the exit code.
func (sh *shell) end(code int) int {
	for _, action := range sh.traps.pending() {
		if acted := sh.runText(action); sh.runner.Exited() {
			return acted
		}
	}
	// A whole file, even this one, runs the EXIT trap at its end.
	return sh.runNode(sh.file(fmt.Sprintf("(exit %d)", code)))
}

// runText runs the text of a trap as part of the shell.
func (sh *shell) runText(text string) int {
	code := 0
	for _, stmt := range sh.file(text).Stmts {
		if code = sh.runNode(stmt); sh.runner.Exited() {
			break
		}
	}
	return code
}

func (sh *shell) file(text string) *syntax.File {
	file, err := newParser().Parse(strings.NewReader(text), "")
	if err != nil {
		sh.complain(err)
		return &syntax.File{}
	}
	return file
}

func (sh *shell) runNode(node syntax.Node) int { return sh.runIn(context.Background(), node) }

// runIn runs a node until ctx ends, and gives its exit code.
func (sh *shell) runIn(ctx context.Context, node syntax.Node) int {
	err := sh.runner.Run(ctx, node)
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		return 128 + int(syscall.SIGINT)
	}
	fmt.Fprintf(sh.call.Stderr, "%s: %v\n", sh.call.Name, err)
	return 1
}

// onCall sees every simple command before it runs. In front of it come the
// actions of trapped signals that have arrived; a few builtins are replaced.
func (sh *shell) onCall(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	if args[0] == "kill" {
		args[0] = replaced + "kill"
	}
	if !sh.isMain(hc) {
		return args, nil
	}
	if actions := sh.traps.pending(); len(actions) > 0 {
		return []string{"eval", strings.Join(actions, "\n") + "\n" + quote(args)}, nil
	}
	switch args[0] {
	case "trap":
		return sh.traps.set(args)
	case "wait":
		args[0] = replaced + "wait"
	case "exec":
		if len(args) > 1 {
			args[0] = replaced + "exec"
		}
	}
	return args, nil
}

// replaced marks the commands that onExec does in place of a builtin.
const replaced = "lifepod-sh:"

func quote(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		q, err := syntax.Quote(arg, syntax.LangBash)
		if err != nil {
			q = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		quoted[i] = q
	}
	return strings.Join(quoted, " ")
}

// Builtin is an applet for what the shell has built in, such as test and printf.
func Builtin(c *toolbox.Call) error {
	sh, err := newShell(c, nil)
	if err != nil {
		return err
	}
	return toolbox.Exit(sh.run(strings.NewReader(quote(append([]string{c.Name}, c.Args...)))))
}
