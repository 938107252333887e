// Package nodeparts tries parts of a node, each by itself, against a real control plane and with no more rights than a node has:
// how it joins (node/join), its Node object (node/register), where its pods come from (node/source), what they use
// (node/objects), and what it tells of them (node/publish). The container runtime is the one part that is not real.
package nodeparts
