// Package probe makes one attempt of a container's probe: exec, httpGet,
// tcpSocket or grpc. When it is made, how often, and what its outcome means for
// the container is decided in package lifecycle.
package probe
