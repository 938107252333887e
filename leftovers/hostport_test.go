package leftovers

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

const nftHostPorts = `table ip cni_hostport { # handle 7
	comment "CNI portmap plugin"
	chain hostports { # handle 1
		tcp dport 80 dnat to 10.9.0.2:80 comment "mine" # handle 12
		tcp dport 81 dnat to 10.8.0.2:80 comment "others" # handle 13
	}
	chain masquerading { # handle 5
		type nat hook postrouting priority srcnat; policy accept;
		ip saddr 127.0.0.1 ip daddr 10.9.0.2 masquerade comment "mine" # handle 15
	}
}
`

const iptablesHostPorts = `-N CNI-DN-0123
-N CNI-HOSTPORT-DNAT
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A CNI-DN-0123 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.9.0.2:80
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"lifepod\" id: \"mine\"" -m multiport --dports 80 -j CNI-DN-0123
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"cni0\" id: \"others\"" -m multiport --dports 81 -j CNI-DN-4567
`

const iptablesMine = `-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"lifepod\" id: \"mine\"" -m multiport --dports 80 -j CNI-DN-0123`

// The host ports of other runtimes, and of other roots, stay.
func TestFindHostPorts(t *testing.T) {
	s := system{run: func(_ context.Context, _, name string, arguments ...string) (string, error) {
		switch name + " " + strings.Join(arguments, " ") {
		case "nft -a list table ip cni_hostport":
			return nftHostPorts, nil
		case "iptables -w -t nat -S":
			return iptablesHostPorts, nil
		}
		return "", errors.New("no such table")
	}}
	place := Place{RunDir: t.TempDir()}
	assert.Empty(t, s.findHostPorts(t.Context(), place), "without sandboxes")
	write(t, filepath.Join(place.RunDir, "state/io.containerd.grpc.v1.cri/sandboxes/mine/shm"), "")
	var got []string
	for _, leftover := range s.findHostPorts(t.Context(), place) {
		got = append(got, string(leftover.Kind)+" "+leftover.Name)
	}
	want := []string{
		"host port's nft rule ip cni_hostport hostports handle 12",
		"host port's nft rule ip cni_hostport masquerading handle 15",
		"host port's iptables rule " + iptablesMine,
	}
	assert.Deep(t, "", want, got)
}

func TestSweepHostPortChain(t *testing.T) {
	var got string
	run := func(_ context.Context, input, name string, _ ...string) (string, error) {
		got = name + "\n" + input
		return "", nil
	}
	assert.Must(t, sweepHostPortChain(t.Context(), run, iptablesMine))
	assert.Deep(t, "", "iptables-restore\n*nat\n"+strings.Replace(iptablesMine, "-A", "-D", 1)+"\n-F CNI-DN-0123\n-X CNI-DN-0123\nCOMMIT\n", got)
}
