// Package traffic tests that lifepod up brings traffic of Services and names of the
// cluster to pods, from outside and as pods see it.
package traffic
