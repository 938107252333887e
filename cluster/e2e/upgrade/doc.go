// Package upgrade tests that a cluster, a joined node and an agent of the lifepod of the
// minor version of Kubernetes before go on with this one, under their pods.
package upgrade
