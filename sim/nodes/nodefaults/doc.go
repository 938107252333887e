// Package nodefaults says what happens to the simulated nodes of a process, beside what happens to their
// pods: which are slow, lose the API server, are rebooted, or are lost. It is read from YAML
// (NodeScenario); Schema is its JSON schema. What is drawn by chance depends on a seed alone.
package nodefaults
