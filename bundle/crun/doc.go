// Package crun finds the OCI runtime crun on this machine, and tries whether it can make
// containers here. crun is written in C and takes less of a CPU to make a container than runc,
// which lifepod carries. It is the distribution's: lifepod uses it only where it is asked to.
package crun
