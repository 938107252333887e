// Package stages reads Stages of KWOK (kwok.x-k8s.io/v1alpha1, as of KWOK 0.8) and plays them on a pod, as KWOK's
// controller does: which Stages a pod goes through, after which delays, and which status each gives it.
//
// It is pure: no time passes, and what KWOK would draw by chance stays a range (Delay) or is the likeliest (Play).
package stages
