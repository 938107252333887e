package container

import (
	"flag"
	"io"
	"path/filepath"
)

// command is what runc is asked to do.
type command struct {
	root    string // folder of the containers' states
	log     string // file that errors are logged to
	systemd bool   // makes the cgroups
	verb    string
	id      string // of the container
	flags   flags
	rest    []string // of the arguments, after the ID
}

// flags are those of the verbs.
type flags struct {
	bundle, process, pidFile, console, format string
	noPivot, noKeyring, detach, force, all    bool
}

// verbFlags says which flags a verb may have, and how many arguments there are after
// the container's ID.
var verbFlags = map[string]func(f *flags, set *flag.FlagSet) (arguments int){
	"create": func(f *flags, set *flag.FlagSet) int {
		set.StringVar(&f.bundle, "bundle", "", "")
		set.StringVar(&f.pidFile, "pid-file", "", "")
		set.StringVar(&f.console, "console-socket", "", "")
		set.BoolVar(&f.noPivot, "no-pivot", false, "")
		set.BoolVar(&f.noKeyring, "no-new-keyring", false, "")
		return 0
	},
	"exec": func(f *flags, set *flag.FlagSet) int {
		set.StringVar(&f.process, "process", "", "")
		set.StringVar(&f.pidFile, "pid-file", "", "")
		set.StringVar(&f.console, "console-socket", "", "")
		set.BoolVar(&f.detach, "detach", false, "")
		return 0
	},
	"delete": func(f *flags, set *flag.FlagSet) int {
		set.BoolVar(&f.force, "force", false, "")
		return 0
	},
	"start":  func(*flags, *flag.FlagSet) int { return 0 },
	"pause":  func(*flags, *flag.FlagSet) int { return 0 },
	"resume": func(*flags, *flag.FlagSet) int { return 0 },
	"kill": func(f *flags, set *flag.FlagSet) int {
		set.BoolVar(&f.all, "all", false, "")
		return 1
	},
	"ps": func(f *flags, set *flag.FlagSet) int {
		set.StringVar(&f.format, "format", "", "")
		return 0
	},
}

// parse reads a command line of runc, as package go-runc makes it; false, if it has what
// this package knows nothing of.
func parse(args []string) (command, bool) {
	var c command
	var logFormat string
	global := newSet()
	global.StringVar(&c.root, "root", "", "")
	global.StringVar(&c.log, "log", "", "")
	global.StringVar(&logFormat, "log-format", "", "")
	global.BoolVar(&c.systemd, "systemd-cgroup", false, "")
	if len(args) == 0 || global.Parse(args[1:]) != nil || global.NArg() == 0 {
		return c, false
	}
	c.verb = global.Arg(0)
	declare, known := verbFlags[c.verb]
	if !known || logFormat != "json" || !filepath.IsAbs(c.root) || filepath.Clean(c.root) == "/" {
		return c, false
	}
	set := newSet()
	arguments := declare(&c.flags, set)
	if set.Parse(global.Args()[1:]) != nil || set.NArg() != 1+arguments {
		return c, false
	}
	c.id, c.rest = set.Arg(0), set.Args()[1:]
	return c, c.complete()
}

// complete says whether the flags are there that the verb can't do without here.
func (c command) complete() bool {
	switch c.verb {
	case "create":
		return filepath.IsAbs(c.flags.bundle) && filepath.IsAbs(c.flags.pidFile)
	case "exec":
		return c.flags.detach && filepath.IsAbs(c.flags.process) && filepath.IsAbs(c.flags.pidFile)
	case "ps":
		return c.flags.format == "json"
	}
	return true
}

func newSet() *flag.FlagSet {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return set
}
