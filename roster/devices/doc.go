// Package devices chooses which devices of a device plugin a container gets, as Kubernetes' device manager does, but always the
// same ones where that takes random ones. It is pure: what plugins say comes in, what is to be asked of them goes out.
package devices
