// Command lifepod-ipam is the CNI IPAM plugin of lifepod: see package ipam.
package main

import "github.com/lifepod/lifepod/bundle/runtime/ipam"

func main() { ipam.Main() }
