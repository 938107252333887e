// Package why tells in sentences why a pod is as it is, from what its journal has: what its
// containers wait for, what led to the last restart, and what delays Ready or its
// end. It is pure: the caller gives the time, and the same record always gives the same
// words.
//
// A sentence is about one cause. It also names what follows from that cause: if five
// containers wait for one image, there is one sentence. For programs, each sentence has the
// entries of the journal that it was made from.
//
// Names and messages of others are in the sentences as package plain leaves them.
package why
