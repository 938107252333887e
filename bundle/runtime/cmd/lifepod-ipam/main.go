// Command lifepod-ipam is the CNI IPAM plugin of lifepod: see package ipam.
package main

import (
	"os"

	"github.com/lifepod/lifepod/bundle/runtime/ipam"
)

func main() {
	if len(os.Args) > 1 {
		os.Exit(ipam.Command(os.Args[1:], os.Stderr))
	}
	ipam.Main()
}
