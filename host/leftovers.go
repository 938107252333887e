package host

import (
	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/leftovers"
)

// LeftoverPlace is where the lifepods of a root have their things.
func LeftoverPlace(paths bundle.Paths) leftovers.Place {
	return leftovers.Place{
		Root: paths.Root, RunDir: paths.RunDir, CgroupParent: paths.CgroupParent(), Bridge: paths.Bridge(),
		FilterTable: paths.FilterTable(), Endpoint: "unix://" + paths.Socket(),
	}
}
