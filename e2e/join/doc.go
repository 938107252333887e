// Package join proves node/join against a real control plane: bootstrapping with a
// token, rotation, and a serving certificate that the cluster signs.
package join
