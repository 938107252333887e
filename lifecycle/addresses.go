package lifecycle

import "net/netip"

// primaryFirst returns the pod's addresses for its status: the first of the node's
// primary family, then the first of the other family (A-CST-17). The runtime may list
// them in any order and notation.
func primaryFirst(runtimeIPs, hostIPs []string) []string {
	primaryIs4 := true
	if len(hostIPs) > 0 {
		if host, err := netip.ParseAddr(hostIPs[0]); err == nil {
			primaryIs4 = host.Unmap().Is4()
		}
	}
	var ips []string
	for _, is4 := range []bool{primaryIs4, !primaryIs4} {
		for _, text := range runtimeIPs {
			if ip, err := netip.ParseAddr(text); err == nil && ip.Unmap().Is4() == is4 {
				ips = append(ips, ip.Unmap().String())
				break
			}
		}
	}
	return ips
}
