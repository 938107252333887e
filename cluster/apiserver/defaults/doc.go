// Package defaults makes the objects that every cluster has, the roles of RBAC with their
// bindings and the priority classes of the system, in the place of the hooks of upstream's
// API server. Which they are and how they are reconciled is upstream's.
package defaults
