package leftovers

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lifepod/lifepod/internal/assert"
)

// What bears another root's name, or only begins with this one's, stays.
func TestFindFilter(t *testing.T) {
	s := system{run: func(_ context.Context, _, name string, arguments ...string) (string, error) {
		switch name {
		case "nft":
			return "table ip nat\ntable ip lifepod_01234567\ntable ip lifepod_01234567_services\ntable ip lifepod_0123456789\n", nil
		case "iptables":
			if strings.Contains(strings.Join(arguments, " "), "-t raw -S PREROUTING") {
				return "-A PREROUTING -d 127.0.0.0/8 ! -i lo -m comment --comment lifepod_01234567 -j DROP\n", nil
			}
			return "-P POSTROUTING ACCEPT\n" +
				"-A POSTROUTING -s 10.2.0.0/22 ! -d 10.2.0.0/22 -m comment --comment lifepod_99999999 -j MASQUERADE\n" +
				"-A POSTROUTING -s 10.1.0.0/22 ! -d 10.1.0.0/22 -m comment --comment \"lifepod_01234567\" -j MASQUERADE\n", nil
		}
		return "", errors.New("not installed")
	}}
	want := []Leftover{
		{Kind: FilterTable, Name: "lifepod_01234567"},
		{Kind: FilterTable, Name: "lifepod_01234567_services"},
		{Kind: FilterRule, Name: "-A PREROUTING -d 127.0.0.0/8 ! -i lo -m comment --comment lifepod_01234567 -j DROP"},
		{Kind: FilterRule, Name: "-A POSTROUTING -s 10.1.0.0/22 ! -d 10.1.0.0/22 -m comment --comment lifepod_01234567 -j MASQUERADE"},
	}
	assert.Deep(t, "", want, s.findFilter(t.Context(), Place{FilterTable: "lifepod_01234567"}), cmpopts.IgnoreUnexported(Leftover{}))
}

func TestSweepFilter(t *testing.T) {
	for _, c := range []struct {
		name string
		rule string
		gone bool
		want []string
	}{
		{"of the guard", "-A PREROUTING -j X", false, []string{"iptables -w -t raw -C PREROUTING -j X", "iptables -w -t raw -D PREROUTING -j X"}},
		{"there", "-A POSTROUTING -j X", false, []string{"iptables -w -t nat -C POSTROUTING -j X", "iptables -w -t nat -D POSTROUTING -j X"}},
		{"gone meanwhile", "-A POSTROUTING -j X", true, []string{"iptables -w -t nat -C POSTROUTING -j X"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			run := func(_ context.Context, _, name string, arguments ...string) (string, error) {
				got = append(got, name+" "+strings.Join(arguments, " "))
				if c.gone {
					return "", errors.New("no such rule")
				}
				return "", nil
			}
			assert.Must(t, sweepRule(t.Context(), run, c.rule))
			assert.Deep(t, "calls", c.want, got)
		})
	}
}
