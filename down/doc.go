// Package down is lifepod down on a state folder without a cluster: it ends the pods
// that lifepod run and lifepod agent have left there. package cluster has the one for
// clusters.
package down
