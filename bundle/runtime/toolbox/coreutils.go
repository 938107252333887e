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

// coreutils are the commands that u-root provides as packages.
var coreutils = map[string]func() core.Command{
	"base64": base64.New,
	"cat":    cat.New,
	"chmod":  chmod.New,
	"cp":     cp.New,
	"find":   find.New,
	"ls":     ls.New,
	"mkdir":  mkdir.New,
	"mktemp": mktemp.New,
	"mv":     mv.New,
	"rm":     rm.New,
	"touch":  touch.New,
	"xargs":  xargs.New,
}

func coreutil(c *Call) int {
	command := coreutils[c.Name]()
	command.SetIO(c.Stdin, c.Stdout, c.Stderr)
	command.SetLookupEnv(os.LookupEnv)
	if err := command.Run(c.Args...); err != nil {
		return c.Fail(1, err)
	}
	return 0
}
