package dns

import (
	"context"
	"fmt"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/cache"
	"github.com/coredns/coredns/plugin/kubernetes"
	"github.com/coredns/coredns/plugin/pkg/nonwriter"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// chain answers names of the cluster from what is known of it, and passes others
// on, through a cache. Answers about the cluster are not cached: they are found
// as fast.
func (c Config) chain(known *objects, outside plugin.Handler) (plugin.Handler, error) {
	stanza := caddy.NewTestController("dns", fmt.Sprintf(`kubernetes %s in-addr.arpa ip6.arpa {
	pods insecure
	fallthrough in-addr.arpa ip6.arpa
}`, c.Domain))
	stanza.Next()
	inside, err := kubernetes.ParseStanza(stanza)
	if err != nil {
		return nil, fmt.Errorf("cluster DNS: domain %q: %w", c.Domain, err)
	}
	cached := cache.New()
	cached.Next = outside
	inside.Next = cached
	inside.APIConn = known
	inside.Upstream = again{inside}
	return inside, nil
}

// again looks up the names that CNAME records of ExternalName services lead to.
type again struct{ first plugin.Handler }

func (a again) Lookup(ctx context.Context, state request.Request, name string, kind uint16) (*dns.Msg, error) {
	question := new(dns.Msg).SetQuestion(name, kind)
	answer := nonwriter.New(state.W)
	if _, err := a.first.ServeDNS(ctx, answer, question); err != nil {
		return nil, err
	}
	return answer.Msg, nil
}
