package doctor

import (
	"strings"

	"github.com/lifepod/lifepod/worker/criconfig"
)

const needsRoot = "only root can try"

// checkHostsFile looks for the file that containerd copies for each pod.
func checkHostsFile(h Host) Result {
	const name = "hosts file"
	if !h.exists(criconfig.HostsPath) {
		return fail(name, "there is no "+criconfig.HostsPath, "no pod can start without it: echo 127.0.0.1 localhost > "+criconfig.HostsPath)
	}
	return ok(name, criconfig.HostsPath+" is there")
}

func checkBridge(h Host) Result {
	const name = "bridge and veth"
	if !h.IsRoot() {
		return notChecked(name, needsRoot)
	}
	if err := h.TryBridge(); err != nil {
		return fail(name, err.Error(), "pods can't be connected to a network: modprobe bridge veth, or use a kernel with CONFIG_BRIDGE and CONFIG_VETH")
	}
	return ok(name, "can be made")
}

// checkNAT tries nft, then iptables, as the bundled runtime does.
func checkNAT(h Host) Result {
	const name = "address translation"
	var present, failures []string
	for _, program := range []string{"nft", "iptables"} {
		// Users other than root often have no sbin in their path.
		if h.LookPath(program) != nil && !h.exists("/usr/sbin/"+program) {
			continue
		}
		present = append(present, program)
		if !h.IsRoot() {
			continue
		}
		err := h.TryNAT(program)
		if err == nil {
			return ok(name, program+" makes the rules that pods need")
		}
		failures = append(failures, err.Error())
	}
	const effect = "pods can't reach out, and ports can't be published: "
	switch {
	case len(present) == 0:
		return fail(name, "neither nft nor iptables is installed",
			effect+"install nftables or iptables (Debian, Ubuntu: apt install nftables; Fedora: dnf install nftables)")
	case !h.IsRoot():
		return notChecked(name, strings.Join(present, " and ")+" installed; "+needsRoot)
	default:
		return fail(name, strings.Join(failures, "; "),
			effect+"modprobe nf_nat nft_chain_nat nft_masq xt_MASQUERADE xt_addrtype xt_comment, or use a kernel that has them")
	}
}

func checkBridgeFilter(h Host) Result {
	const name = "br_netfilter"
	const flag = "/proc/sys/net/bridge/bridge-nf-call-iptables"
	const effect = "a pod doesn't reach a port that another pod of this machine publishes: "
	switch {
	case !h.exists(flag):
		return warn(name, "not loaded", effect+"modprobe br_netfilter, and list it in /etc/modules-load.d/lifepod.conf")
	case h.read(flag) != "1":
		return warn(name, "loaded, but switched off", effect+"sysctl -w net.bridge.bridge-nf-call-iptables=1")
	default:
		return ok(name, "loaded")
	}
}

func checkForwarding(h Host) Result {
	const name = "IP forwarding"
	switch value := h.read("/proc/sys/net/ipv4/ip_forward"); value {
	case "1":
		return ok(name, "on")
	case "0":
		return ok(name, "off; the first pod's network turns it on")
	default:
		return notChecked(name, "/proc/sys/net/ipv4/ip_forward can't be read")
	}
}
