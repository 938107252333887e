package cluster

import "net/netip"

// DefaultPods is the range of pod addresses of the default root's cluster: 256 nodes
// with 256 addresses each. Other roots have 64 nodes.
const DefaultPods = "10.42.0.0/16"

var podRanges = ranges{kind: "pod addresses", usual: DefaultPods, pool: "10.128.0.0/9", bits: 18}

// choosePods chooses the range of pod addresses, once for ever: nodes keep their parts
// of it.
func (l *layout) choosePods() (err error) {
	if l.pods.IsValid() { // of the state
		return nil
	}
	l.pods, err = l.chooseRange("pods", podRanges)
	return err
}

// podRange is what this machine's node waits for a part of: without controllers
// nobody would give it one, and other pod networks have their own ways.
func (l *layout) podRange() netip.Prefix {
	if !l.runs("controllers") || l.CNI.ConfDir != "" {
		return netip.Prefix{}
	}
	return l.pods
}
