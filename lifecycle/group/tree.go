package group

import "slices"

// treeWidth is how many children a node has at most: it holds a connection to each.
const treeWidth = 32

// Tree has the nodes of a group in the order in which it is filled, the leader's first.
type Tree []string

// TreeOf is by the names of the nodes alone, in any order.
func TreeOf(leader string, nodes []string) Tree {
	t := Tree{leader}
	for _, node := range slices.Compact(slices.Sorted(slices.Values(nodes))) {
		if node != leader {
			t = append(t, node)
		}
	}
	return t
}

// Parent is the node that passes on what the node reports, and what it hears; empty: it is the leader's, or not of the group.
func (t Tree) Parent(node string) string {
	if i := slices.Index(t, node); i > 0 {
		return t[(i-1)/treeWidth]
	}
	return ""
}

// Children are the nodes whose parent the node is.
func (t Tree) Children(node string) []string {
	i := slices.Index(t, node)
	if i < 0 {
		return nil
	}
	first := min(i*treeWidth+1, len(t))
	return t[first:min(first+treeWidth, len(t))]
}
