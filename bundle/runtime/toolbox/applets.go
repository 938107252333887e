package toolbox

import (
	"os"

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
