// Package importing makes scenarios of what other simulators read: of Stages of KWOK, the scenario of one pod.
//
// A Stage says which status a pod gets, a scenario what its containers do. So the Stages are played on the pod, and what
// its containers must have done for the statuses that come of it is the scenario. It is pure. What a scenario can't say,
// and what comes out otherwise when it is simulated, are notes: nothing is left out silently.
package importing
