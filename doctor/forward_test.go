package doctor

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestForward(t *testing.T) {
	const docker = "-P INPUT ACCEPT\n-P FORWARD DROP\n-N DOCKER\n-N DOCKER-USER\n-A FORWARD -j DOCKER-USER\n" +
		"-A FORWARD -i docker0 -o docker0 -j ACCEPT\n-A DOCKER-USER -j RETURN\n"
	const nftDrop = "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n\t}\n" +
		"\tchain forward {\n\t\ttype filter hook forward priority filter; policy drop;\n\t}\n}\n"
	const nftOfIptables = "table ip filter {\n\tchain FORWARD {\n\t\ttype filter hook forward priority filter; policy drop;\n\t}\n}\n"
	allowed := func(chain string) string {
		return "iptables -I " + chain + " -i lifepod0 -j ACCEPT; iptables -I " + chain + " -o lifepod0 -j ACCEPT"
	}
	cases := []struct {
		name     string
		listings map[string]string
		user     bool
		status   Status
		advice   string
	}{
		{"open", map[string]string{"iptables -w -S": "-P FORWARD ACCEPT\n"}, false, OK, ""},
		{"docker", map[string]string{"iptables -w -S": docker}, false, Warning, allowed("DOCKER-USER")},
		{"docker, seen by nft too", map[string]string{"iptables -w -S": docker, "nft list chains": nftOfIptables}, false, Warning, allowed("DOCKER-USER")},
		{"docker, allowed", map[string]string{"iptables -w -S": docker + "-A DOCKER-USER -i lifepod0 -j ACCEPT\n"}, false, OK, ""},
		{"another bridge allowed", map[string]string{"iptables -w -S": "-P FORWARD DROP\n-A FORWARD -i lifepod01 -j ACCEPT\n"}, false, Warning, allowed("FORWARD")},
		{"rejects at the end", map[string]string{"iptables -w -S": "-P FORWARD ACCEPT\n-A FORWARD -j REJECT --reject-with icmp-host-prohibited\n"}, false, Warning, allowed("FORWARD")},
		{"nft drops", map[string]string{"nft list chains": nftDrop, "nft list chain inet filter forward": nftDrop}, false, Warning,
			"nft insert rule inet filter forward iifname lifepod0 accept; nft insert rule inet filter forward oifname lifepod0 accept"},
		{"nft, allowed", map[string]string{"nft list chains": nftDrop, "nft list chain inet filter forward": `iifname "lifepod0" accept`}, false, OK, ""},
		{"neither", nil, false, NotChecked, ""},
		{"user", map[string]string{"iptables -w -S": docker}, true, NotChecked, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := checkForward(hostWith(fakeSystem{user: c.user, listings: c.listings}, nil), "lifepod0")
			advice := ""
			if len(got.Advice) > 0 {
				advice = got.Advice[len(got.Advice)-1]
			}
			if got.Status != c.status || len(got.Advice) > 2 {
				t.Errorf("want %s, got %+v", c.status, got)
			}
			assert.Deep(t, "advice", c.advice, advice)
		})
	}
}
