// Package endpoint is how probes and lifecycle hooks reach a container over the
// network: named ports, requests as httpGet describes them, and the client that
// sends them.
package endpoint
