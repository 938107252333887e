// Package timeline turns what the journal has of a pod into a chart: a row for the pod, for its
// volumes, its sandbox, each image and each container, and bars in them over time. It marks
// the critical path: the bars that the pod's first Ready had to wait for, one after the other.
//
// Everything here is pure: the same record and time always give the same chart. The packages below
// draw charts: in a terminal, as a picture, as a page, as JSON, as a trace.
//
// choose.go finds in a journal the pods that a user names.
package timeline
