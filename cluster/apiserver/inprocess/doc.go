// Package inprocess carries requests to the API server that come from its own process, as those of
// the scheduler and the controllers do. A connection on loopback would encrypt, frame, send and
// decrypt each of them, and each event of a watch.
package inprocess
