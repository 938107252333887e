// Package services makes the variables that tell a container where the Services
// of its namespace are (contract A-ENV-1, A-ENV-7). It watches the cluster's
// Services, and keeps of each no more than the variables need.
package services
