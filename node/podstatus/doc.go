// Package podstatus tells the API server what has become of a node's pods: it
// writes their statuses and, when nothing of a pod is left, its final deletion.
//
// Each pod has a queue of its own with one request under way at a time, so that
// its statuses arrive in order; several pods are written at the same time, and
// one slow request delays nobody else (A-STAT-2). A status is sent as soon as it
// is set, unless it only tells of progress: that waits a moment for what follows
// (pace.go, A-STAT-12). While one waits, newer ones take its place, except transitions
// that watchers must see, which are each written by themselves (B-RAC-23). Events wait
// for the statuses that they explain (AfterStatuses).
//
//	Set ──▶ queue of the pod ──▶ merge with what the API has ──▶ PATCH status
//	               ▲                      ▲                          │
//	               └── failed: later      └── Live (the watch) ◀─────┘ answer
//
// What the API has comes from the watch and from the answers to the own writes,
// whichever is newer; it is asked for only when an answer was lost. The merge
// leaves alone what is not the node's (B-FIN-10) and never takes back what is
// final (A-STAT-7). A pod is known by its UID, which is a precondition of every
// write: a successor of the same name is never touched.
//
// Annotations that are the node's go with the statuses (Annotate).
//
// A change that somebody else makes to the node's part of a status is repaired
// when the watch shows it (A-STAT-4). When the API server is away, one request
// at a time tries whether it is back; then everything that waits is sent.
package podstatus
