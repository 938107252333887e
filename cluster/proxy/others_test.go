package proxy

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestOthers(t *testing.T) {
	machine := func(_ context.Context, name string, arguments ...string) (string, error) {
		switch call := name + " " + strings.Join(arguments, " "); call {
		case "nft list tables ip":
			return "table ip nat\ntable ip lifepod_1_services\ntable ip lifepod_2_services\ntable ip lifepod_3_services\ntable ip kube-proxy\n", nil
		case "nft get element ip lifepod_2_services cluster-ips { 10.43.0.1 }", "nft get element ip kube-proxy cluster-ips { 10.43.0.1 }":
			return "table ip …", nil
		case "iptables -w -t nat -S KUBE-SERVICES":
			return "-N KUBE-SERVICES\n-A KUBE-SERVICES -d 10.43.0.1/32 -p tcp -j KUBE-SVC-NPX\n", nil
		}
		return "", errors.New("no such thing")
	}
	want := []string{"nftables table lifepod_2_services", "nftables table kube-proxy", "iptables chain KUBE-SERVICES"}
	assert.Deep(t, "others", want, others(t.Context(), machine, "lifepod_1_services", "10.43.0.1"))
	assert.Empty(t, others(t.Context(), machine, "lifepod_1_services", "10.43.0.2"), "others with 10.43.0.2")
}
