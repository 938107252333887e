// Package devices gives containers the devices of device plugins (v1beta1): plugins register at a socket, tell which devices
// they have and how these are, and are asked to give some to a container before its pod begins. Which ones is decided by
// package roster/devices, when by package roster.
package devices
