// Package journal keeps what happened to pods and why, so that it can be told later: every
// milestone and decision with its time, reason and rule, and what led to it.
//
// The journal is a folder with a folder per pod, named by its UID:
//
//	pod.json                 which pod it is (Pod)
//	now.json                 what it waits for (Now), as of the last step that changed that
//	first.jsonl              the first entries, which are kept as long as the pod's folder
//	<n>.jsonl                the newest entries; the oldest file goes when a third one is begun
//	ends/<container>/<n>.json, <n>.log   the first and the last five ends of a container's instances
//
// An entry is a line of JSON, written with one call before the step's effects are carried out:
// the journal knows of everything that was done, even after a kill -9. Readers skip a line that
// a full disk has cut; what it had no room for is written again with the next step. Folders of pods that are gone stay for some
// days, or until all of them together are too large.
//
// The lifepod that leads a pod holds its lock, a byte of the file <journal>.lock (locks.go).
//
// Only its owner can read the journal, because it contains the ends of logs.
//
// groupattempt.go derives how a group whose pods restart as one (B-GRP) went through its attempts, from the
// journals of its members: who began each, what the group then waited for, one after the other, and who
// was the last. It is pure. Each time is that of a member's own node.
package journal
