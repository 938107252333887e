// Package kubectl is kubectl, for the cluster of one root folder: its commands, its
// output and its exit codes, without an installed kubectl and without plugins.
package kubectl
