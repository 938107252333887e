// Package netbox has the toolbox's applets that need net/http or gRPC: servers
// with health endpoints for the probes of examples and tests, and clients.
package netbox

import "github.com/lifepod/lifepod/bundle/runtime/toolbox"

// Applets are the commands of toolbox-net.
var Applets = map[string]toolbox.Applet{
	"dial":        dial,
	"fetch":       fetch,
	"grpc-health": grpcHealth,
	"lookup":      lookup,
	"serve":       serve,
}
