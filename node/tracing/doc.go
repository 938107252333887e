// Package tracing sends what a node does to an OpenTelemetry collector, as spans: calls
// of the runtime, requests to the API server and to the node's API. What pods go through
// is added by package worker. The rules are A-TRC of the contract.
//
// Without a configuration the environment says what is sent (package telemetry); if
// that says nothing either, there are no Traces (nil), and whatever would be traced is left
// as it is.
package tracing
