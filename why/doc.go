// Package why tells in sentences why a pod is as it is, from what its journal has: what its
// containers wait for, what led to the last restart, what keeps it from being Ready or holds
// its end up. It is pure: the time is given, and the same record is always told in the same
// words.
//
// A sentence is about one cause. What only follows from that cause is named in it: of an image
// that five containers wait for, there is one sentence. Each sentence also has the entries of
// the journal that it was made from, for programs.
//
// Names and messages of others are in the sentences as package plain leaves them.
package why
