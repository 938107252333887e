// Package spans makes OpenTelemetry spans of charts of package timeline: a trace for each pod's life, with
// a span for the pod and one below it for each bar. The same chart always gives the same spans, with the
// same IDs: sending it again adds nothing to what a collector has.
package spans
