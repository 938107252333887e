// Package cni tests another pod network than the bundled one.
package cni
