// Package perfetto writes charts of package timeline as a trace of track events, which
// https://ui.perfetto.dev and trace_processor read: a group of tracks for each pod, in it one for each
// container, probe and image, and arrows along the critical path.
//
// There is no Go module of Perfetto's messages that is kept well, and few of their fields are needed: they
// are encoded one by one. Their numbers are those of protos/perfetto/trace in Perfetto's repository.
package perfetto
