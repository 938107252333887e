// Package agents adds JobSet's own agent containers to the pods of a JobSet, as KEP-467 has them, for tests and
// measurements: what restarts pods in place on nodes that know nothing of groups (docs/groups.md).
package agents
