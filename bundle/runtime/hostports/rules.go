package hostports

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	nft "github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/containernetworking/plugins/pkg/netlinksafe"
)

// ruleset has the IPv4 rules in the table and the chains of the CNI project's plugin portmap.
type ruleset struct {
	*nft.Conn
	table *nft.Table
}

// The chains, in which the rules of pods are: olderChain is empty but for those that
// earlier versions of portmap made.
const (
	tableName  = "cni_hostport"
	allChain   = "hostports_all"
	olderChain = "hostip_hostports"
	portChain  = "hostports"
	masqChain  = "masquerading"
)

// ruleChains are those with rules of pods.
var ruleChains = []string{portChain, olderChain, masqChain}

// entries lead to allChain what comes for this machine, from outside and from itself.
var entries = []struct {
	chain string
	hook  *nft.ChainHook
}{
	{"prerouting", nft.ChainHookPrerouting},
	{"output", nft.ChainHookOutput},
}

// open is used on one socket until it is closed.
func open() (*ruleset, error) {
	conn, err := nft.New(nft.AsLasting())
	if err != nil {
		return nil, fmt.Errorf("open nftables: %w", err)
	}
	return &ruleset{Conn: conn, table: &nft.Table{Name: tableName, Family: nft.TableFamilyIPv4}}, nil
}

// Add lets the host ports of a container lead to an address of its pod: all or none.
func Add(container string, pod netip.Addr, mappings []Mapping) error {
	h, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = h.CloseLasting() }()
	ready := h.ready()
	if err = h.add(container, pod, mappings, ready); ready && errors.Is(err, unix.ENOENT) {
		err = h.add(container, pod, mappings, false) // somebody has just removed the table
	}
	if err != nil {
		return fmt.Errorf("add rules: %w", err)
	}
	forgetUDP(mappings)
	return nil
}

func (r *ruleset) add(container string, pod netip.Addr, mappings []Mapping, ready bool) error {
	if !ready {
		r.makeChains()
	}
	comment := userdata.AppendString(nil, userdata.TypeComment, container)
	for chain, rules := range podRules(pod, mappings) {
		for _, exprs := range rules {
			r.AddRule(&nft.Rule{Table: r.table, Chain: r.chain(chain), Exprs: exprs, UserData: comment})
		}
	}
	return r.Flush()
}

func (r *ruleset) chain(name string) *nft.Chain { return &nft.Chain{Name: name, Table: r.table} }

// ready says that all chains are there and lead to where pods' rules are.
func (r *ruleset) ready() bool {
	for _, name := range []string{"prerouting", "output", allChain} {
		if rules, err := r.GetRules(r.table, r.chain(name)); err != nil || len(rules) == 0 {
			return false
		}
	}
	for _, name := range ruleChains {
		if _, err := r.ListChain(r.table, name); err != nil {
			return false
		}
	}
	return true
}

// makeChains makes what is missing, in the next transaction, and is not done without
// need: what it flushes makes the transaction wait for the kernel.
func (r *ruleset) makeChains() {
	r.AddTable(r.table)
	r.AddChain(r.chain(portChain))
	r.AddChain(r.chain(olderChain))
	r.AddChain(r.chain(allChain))
	r.FlushChain(r.chain(allChain))
	for _, to := range []string{olderChain, portChain} {
		r.AddRule(&nft.Rule{Table: r.table, Chain: r.chain(allChain), Exprs: jump(to)})
	}
	for _, entry := range entries {
		chain := &nft.Chain{Name: entry.chain, Table: r.table, Type: nft.ChainTypeNAT, Hooknum: entry.hook, Priority: nft.ChainPriorityNATDest}
		r.AddChain(chain)
		r.FlushChain(chain)
		r.AddRule(&nft.Rule{Table: r.table, Chain: chain, Exprs: append(toThisMachine(), jump(allChain)...)})
	}
	r.AddChain(&nft.Chain{Name: masqChain, Table: r.table, Type: nft.ChainTypeNAT,
		Hooknum: nft.ChainHookPostrouting, Priority: nft.ChainPriorityNATSource})
}

// Delete gives the host ports of a container free.
func Delete(container string) error {
	h, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = h.CloseLasting() }()
	if err := h.delete(container); err != nil {
		return fmt.Errorf("delete rules: %w", err)
	}
	return nil
}

func (r *ruleset) delete(container string) error {
	found := 0
	for _, chain := range ruleChains {
		rules, err := r.of(container, chain)
		if err != nil {
			return err
		}
		for _, rule := range rules {
			if err := r.DelRule(rule); err != nil {
				return err
			}
		}
		found += len(rules)
	}
	if found == 0 {
		return nil
	}
	err := r.Flush()
	if errors.Is(err, unix.ENOENT) {
		return r.deleteRest(container)
	}
	return err
}

// deleteRest looks again after somebody else has deleted one of the rules, or all.
func (r *ruleset) deleteRest(container string) error {
	for _, chain := range ruleChains {
		rules, err := r.of(container, chain)
		if err != nil {
			return err
		}
		for _, rule := range rules {
			if err := r.DelRule(rule); err != nil {
				return err
			}
			if err := r.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
	}
	return nil
}

// of are the rules of a container in a chain; none if there is no such chain.
func (r *ruleset) of(container, chain string) ([]*nft.Rule, error) {
	rules, err := r.GetRules(r.table, r.chain(chain))
	if err != nil {
		return nil, err
	}
	var own []*nft.Rule
	for _, rule := range rules {
		if comment, _ := userdata.GetString(rule.UserData, userdata.TypeComment); comment == container {
			own = append(own, rule)
		}
	}
	return own, nil
}

// LeadTo says whether a port of 127.0.0.1 leads to an IPv4 address of the subnet.
func LeadTo(subnet netip.Prefix) (bool, error) {
	r, err := open()
	if err != nil {
		return false, err
	}
	defer func() { _ = r.CloseLasting() }()
	rules, err := r.GetRules(r.table, r.chain(masqChain))
	if err != nil {
		return false, fmt.Errorf("list rules: %w", err)
	}
	return slices.ContainsFunc(rules, func(rule *nft.Rule) bool {
		return slices.ContainsFunc(rule.Exprs, func(e expr.Any) bool {
			compared, is := e.(*expr.Cmp)
			if !is {
				return false
			}
			address, is := netip.AddrFromSlice(compared.Data)
			return is && subnet.Contains(address)
		})
	}), nil
}

// Check fails if a rule is missing that Add has added.
func Check(container string, pod netip.Addr, mappings []Mapping) error {
	h, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = h.CloseLasting() }()
	for chain, want := range podRules(pod, mappings) {
		rules, err := h.of(container, chain)
		if err != nil {
			return fmt.Errorf("look for rules: %w", err)
		}
		if len(rules) < len(want) {
			return fmt.Errorf("%d of %d rules of the chain %s are missing", len(want)-len(rules), len(want), chain)
		}
	}
	return nil
}

// forgetUDP makes the kernel forget the connections to UDP ports: they would go on to
// where they went before. It is not known to matter if it fails.
func forgetUDP(mappings []Mapping) {
	for _, m := range mappings {
		if m.Protocol != "udp" {
			continue
		}
		filter := &netlink.ConntrackFilter{}
		if filter.AddProtocol(unix.IPPROTO_UDP) == nil && filter.AddPort(netlink.ConntrackOrigDstPort, uint16(m.HostPort)) == nil {
			_, _ = netlinksafe.ConntrackDeleteFilters(netlink.ConntrackTable, unix.AF_INET, filter)
		}
	}
}
