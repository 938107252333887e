// Package tracing sends what a node does to an OpenTelemetry collector, as spans: calls
// of the runtime, requests to the API server and to the node's API. Package worker
// adds the spans of pods. The rules are A-TRC of the contract.
//
// Without a configuration the environment says what is sent (package telemetry). If that says
// nothing either, Traces is nil and nothing is traced.
package tracing
