// Package record writes Kubernetes Events about pods and the node (A-EVT).
//
// Equal events are one object with a count. The first 25 are told as they come,
// after that one every five minutes, with the count of all: nothing is lost but
// the moment. Ten texts of the same kind about the same container within ten
// minutes become one event, "(combined from similar events): …". These are the
// numbers of the kubelet, which, however, throws away what comes too fast.
//
// Normal events wait a moment, so that what makes a pod ready has the machine and the
// API server to itself; warnings don't. An event that the API has already waits for
// longer, and is told once with all equal ones of that time: restarts that follow each
// other cost no more requests than one.
//
// While the API server is away, events wait, counted together, up to a bound;
// then those go first of which the API has an occurrence already, then the oldest
// normal ones. What could not be told within an hour is dropped, as the API
// server would have by then. At the node's end what waits is told at once, for two
// seconds.
package record
