// Command toolbox is the program of the image lifepod.dev/toolbox:1: see
// package toolbox.
package main

import (
	"os"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
	"github.com/lifepod/lifepod/bundle/runtime/toolbox/shell"
)

func main() {
	applets := toolbox.Applets()
	applets["sh"] = shell.Run
	for _, builtin := range []string{"test", "[", "printf"} {
		applets[builtin] = shell.Builtin
	}
	toolbox.Program{
		Name: "toolbox", Applets: applets, Elsewhere: toolbox.NetApplets, Sibling: "toolbox-net",
	}.Main(os.Args)
}
