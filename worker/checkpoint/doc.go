// Package checkpoint keeps a pod's lifecycle.Checkpoint in a file, so that a
// lifepod that comes after one that was killed resumes where it was.
//
// The file has two slots, which are written in turn, in place: at any instant one
// of them is complete. A new file that is renamed over the old one would be as
// safe, and costs twenty times as much on ext4, which then begins to write it
// back at once. What was saved survives the process; what was synced survives the
// machine, too.
//
// A file that can't be read, or that could not be written, is as good as none:
// the pod is then swept up, never led on from a state that is past.
package checkpoint
