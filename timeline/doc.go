// Package timeline turns what the journal has of a pod into a chart: a row for the pod, for its
// volumes, its sandbox, each image and each container, and bars in them over time. It says which of
// them the pod's first Ready had to wait for, one after the other: the critical path.
//
// Everything here is pure: the same record and time always give the same chart. The packages below
// draw charts: in a terminal, as a picture, as a page, as JSON, as a trace.
//
// choose.go finds the pods in a journal that a user names.
package timeline
