package proxy

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/knftables"

	"github.com/lifepod/lifepod/internal/assert"
)

// A table that is listed as nft does it without /etc/protocols.
func TestProtocolsByName(t *testing.T) {
	table := knftables.NewFake(knftables.IPv4Family, "test")
	filling := table.NewTransaction()
	filling.Add(&knftables.Table{})
	for set, elements := range map[string][]string{
		"cluster-ips":          {"10.43.0.6"},
		"service-ips":          {"10.43.0.6 . 6 . 80", "10.43.0.6 . 17 . 6", "10.43.0.6 . udp . 53"},
		"service-nodeports":    {"132 . 30080"},
		"hairpin-connections":  {"10.42.0.2 . 10.42.0.2 . 6 . 17"},
		"affinity-of-services": {},
	} {
		filling.Add(&knftables.Set{Name: set, Type: "any"})
		for _, key := range elements {
			filling.Add(&knftables.Element{Set: set, Key: strings.Split(key, " . ")})
		}
	}
	assert.Must(t, table.Run(t.Context(), filling))
	for set, want := range map[string][]string{
		"cluster-ips":          {"10.43.0.6"},
		"service-ips":          {"10.43.0.6 . tcp . 80", "10.43.0.6 . udp . 6", "10.43.0.6 . udp . 53"},
		"service-nodeports":    {"sctp . 30080"},
		"hairpin-connections":  {"10.42.0.2 . 10.42.0.2 . tcp . 17"},
		"affinity-of-services": nil,
	} {
		elements := assert.Get(named{table}.ListElements(t.Context(), "set", set)).Must(t)
		var got []string
		for _, e := range elements {
			got = append(got, strings.Join(e.Key, " . "))
		}
		assert.Deep(t, fmt.Sprint(set), want, got)
	}
	_, err := (named{table}).ListElements(t.Context(), "set", "missing")
	assert.True(t, knftables.IsNotFound(err), "a set that is not there: %v", err)
}
