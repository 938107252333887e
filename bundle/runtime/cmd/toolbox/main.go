// Command toolbox is the program of the image lifepod.dev/toolbox:1: see
// package toolbox.
package main

import (
	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
	"github.com/lifepod/lifepod/bundle/runtime/toolbox/shell"
)

func main() {
	applets := toolbox.Applets()
	applets["sh"] = shell.Run
	for _, builtin := range []string{"[", "echo", "kill", "printf", "pwd", "test"} {
		applets[builtin] = shell.Builtin
	}
	toolbox.Main(applets)
}
