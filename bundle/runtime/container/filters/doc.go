// Package filters spares containers the compilation of their seccomp filters.
//
// The process that becomes a container's has runc's library make a program for the kernel of the container's
// seccomp profile, at each start and at each exec of a probe. libseccomp takes 12 ms for containerd's default
// profile, about as long as all else takes that the process does before it executes the container's program, and
// the result is always the same. So the shim has it made once ([Cache.Provide]), keeps it beside the runtime's
// programs, and lays it into the container's bundle. Where the process finds one there, it takes it: libseccomp's
// functions that add rules and give out the program are wrapped at link time, and runc's library does all else
// as before. Without one, the process has it made.
//
// Without cgo, or without libseccomp, there is nothing to spare.
package filters
