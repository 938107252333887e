// Package rounds tells how a group whose pods restart as one (B-GRP) went through its attempts, from the
// journals of its members: who began each, what the group then waited for, one after the other, and who
// was the last. It is pure. Each time is that of a member's own node.
package rounds
