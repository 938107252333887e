// Package operator has an operator that is written with controller-runtime, and its test on the
// nodes of lifepodtest: what docs/sim.md says of tests of operators. It is a module of its own, so
// that nobody else needs controller-runtime.
package operator
