// Package netbox has the toolbox's applets that need net/http or gRPC: servers
// with health endpoints for the probes of examples and tests, and clients.
package netbox

import "github.com/lifepod/lifepod/bundle/runtime/toolbox"

// Applets are the commands of toolbox-net; toolbox.NetApplets repeats the names.
var Applets = map[string]toolbox.Applet{
	"dial":        dial,
	"fetch":       fetch,
	"grpc-check":  grpcCheck,
	"grpc-health": grpcHealth,
	"listen":      listen,
	"lookup":      lookup,
	"serve":       serve,
	"wget":        wget,
}
