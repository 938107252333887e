// Package traces imports traces of SimKube: a scenario for the pods of each recorded workload, and its objects as manifests
// with their times. It is pure. What a scenario can't say, and what is left out, are notes.
package traces
