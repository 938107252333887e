// Command toolbox-net has the applets of the toolbox that need the network: see
// package toolbox.
package main

import (
	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
	"github.com/lifepod/lifepod/bundle/runtime/toolbox/netbox"
)

func main() { toolbox.Main(netbox.Applets) }
