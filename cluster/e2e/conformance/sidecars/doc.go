// Package sidecars pins the sidecars that CSI drivers are deployed with, as tools of a
// module of its own: `make conformance-storage` builds them.
package sidecars
