// Package kwok runs KWOK's controller, which `make kwok` has built, beside a control plane: `make bench-nodes` compares
// simulated nodes of lifepod with those of KWOK. Its tests hold what `lifepod sim import` makes of KWOK's own Stages.
package kwok
