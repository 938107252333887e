package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// shell is one run of sh.
type shell struct {
	call   *toolbox.Call
	runner *interp.Runner
	parser *syntax.Parser
	traps  *traps
	jobs   *jobs
}

// Run is the applet sh: sh [-e] [-u] [-x] [-c SCRIPT [NAME [ARG…]]] [FILE [ARG…]].
func Run(c *toolbox.Call) int {
	line, err := commandLine(c)
	if err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	sh, err := newShell(c, append(append(line.options, "--"), line.params...))
	if err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	if !line.interactive {
		return sh.run(line.script)
	}
	user, err := newInteractive(sh)
	if err != nil {
		return c.Fail(1, err)
	}
	code := user.run()
	if sh.runner.Exited() {
		return code
	}
	return sh.end(code)
}

func newShell(c *toolbox.Call, params []string) (*shell, error) {
	sh := &shell{
		call: c, jobs: &jobs{seen: make(chan struct{})},
		// Bash's grammar is a superset of what scripts for sh use.
		parser: syntax.NewParser(syntax.Variant(syntax.LangBash)),
	}
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

// line is what a command line of sh says.
type line struct {
	script          io.Reader
	params, options []string
	interactive     bool // the script is what a user types
}

// commandLine finds the script and its parameters. Options other than -c, -i and -s
// are for `set`. A terminal as input has a user, and -i says so of anything else.
func commandLine(c *toolbox.Call) (l line, err error) {
	args, command, user := c.Args, false, false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		for _, letter := range arg[1:] {
			switch {
			case letter == 'c':
				command = true
			case letter == 'i':
				user = true
			case letter == 's' || letter == 'l':
			case strings.ContainsRune("aefnux", letter):
				l.options = append(l.options, "-"+string(letter))
			default:
				return l, fmt.Errorf("option -%c is not known: -c, and -a -e -f -n -u -x of set", letter)
			}
		}
	}
	switch {
	case command && len(args) == 0:
		return l, errors.New("-c needs a script")
	case command:
		l.script, l.params = strings.NewReader(args[0]), args[min(2, len(args)):]
		return l, nil
	case len(args) == 0:
		l.script, l.interactive = c.Stdin, user || isTerminal(c.Stdin)
		return l, nil
	}
	l.script, err = os.Open(args[0])
	l.params = args[1:]
	return l, err
}

// run reads and runs one statement after the other, and gives the exit code.
func (sh *shell) run(script io.Reader) int {
	code := 0
	for stmt, err := range sh.parser.StmtsSeq(script) {
		if err != nil {
			return sh.call.Fail(toolbox.Usage, err)
		}
		sh.jobs.note(stmt)
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
	return sh.runNode(sh.file(fmt.Sprintf("%sstatus %d", replaced, code)))
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
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		sh.call.Fail(toolbox.Usage, err)
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
	return sh.call.Fail(1, err)
}

// onCall sees every simple command before it runs. In front of it come the
// actions of trapped signals that have arrived; a few builtins are replaced.
func (sh *shell) onCall(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	if args[0] == "kill" {
		args[0] = replaced + "kill"
	}
	if !sh.isMain(hc) {
		if sh.jobs.killedAt(hc.Pos) {
			return []string{"exit", "143"}, nil
		}
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

// Builtin is an applet for what the shell has built in: test, [ and printf.
func Builtin(c *toolbox.Call) int {
	sh, err := newShell(c, nil)
	if err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	return sh.run(strings.NewReader(quote(slices.Concat([]string{c.Name}, c.Args))))
}
