// Command lifepod-bridge is the CNI plugin of lifepod's pod network: see package bridge.
package main

import "github.com/lifepod/lifepod/bundle/runtime/bridge"

func main() { bridge.Main() }
