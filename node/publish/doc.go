// Package publish writes what becomes of a node's pods to the API server: their statuses and Kubernetes events.
//
// # Podstatus
//
// writer.go tells the API server what has become of a node's pods: it
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
//
// # Record
//
// recorder.go writes Kubernetes Events about pods and the node (A-EVT).
//
// Equal events are one object with a count. The first 25 are reported as they come,
// after that one every five minutes, with the count of all: nothing is lost but
// the moment. Ten texts of the same kind about the same container within ten
// minutes become one event, "(combined from similar events): …". The
// numbers are the kubelet's, which, however, drops events that come too fast.
//
// Normal events wait a moment, so that what makes a pod ready has the machine and the
// API server to itself; warnings don't. An event that the API has already waits for
// longer, and is reported once with all equal ones of that time: restarts that follow each
// other cost no more requests than one.
//
// While the API server is away, events wait, counted together, up to a bound;
// then those go first of which the API has an occurrence already, then the oldest
// normal ones. What could not be reported within an hour is dropped, as the API
// server would have by then. At the node's end what waits is reported at once, for two
// seconds.
//
// statuses.go tells the API server of a node's pods: their statuses, and their events after
// the statuses that they explain. What the API server says of the pods comes back the same way.
package publish
