package criconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
)

const (
	resolvConfPath = "/etc/resolv.conf"
	// systemdResolvConfPath has the real servers where /etc/resolv.conf only
	// names systemd-resolved's stub on loopback.
	systemdResolvConfPath = "/run/systemd/resolve/resolv.conf"
)

// ResolvConf is the part of a resolv.conf file that reaches pods.
type ResolvConf struct {
	Servers  []string
	Searches []string
	Options  []string
}

// Resolver is the host's DNS configuration in its two readings.
type Resolver struct {
	// Host is what processes of the host use, and so host-network pods.
	Host ResolvConf
	// Pod is what a pod on the pod network can use: loopback servers of the host
	// are out of its reach.
	Pod ResolvConf
	// Scoped are the servers that Pod lacks because their addresses count on an interface
	// of the host only, such as fe80::1%3 (A-NET-4).
	Scoped []string
}

// newResolver takes a host's configuration as it is for Pod, but for scoped servers.
func newResolver(host ResolvConf) Resolver {
	r := Resolver{Host: host, Pod: host}
	r.Pod.Servers = nil
	for _, server := range host.Servers {
		if strings.Contains(server, "%") {
			r.Scoped = append(r.Scoped, server)
		} else {
			r.Pod.Servers = append(r.Pod.Servers, server)
		}
	}
	return r
}

// HostResolver reads the host's resolver configuration. Where the host has only
// loopback servers it takes the ones behind systemd-resolved's stub for Pod; it
// keeps Host where there are none. A host without the file has no configuration.
func HostResolver() (Resolver, error) {
	return hostResolver(resolvConfPath, systemdResolvConfPath)
}

// ResolverOf is the resolver of a file that the node's owner has named; an empty
// name gives pods none of the machine's (A-NET-3).
func ResolverOf(path string) (Resolver, error) {
	switch path {
	case "":
		return Resolver{}, nil
	case resolvConfPath:
		return HostResolver()
	}
	host, err := ReadResolvConf(path)
	return newResolver(host), err
}

func hostResolver(path, systemdPath string) (Resolver, error) {
	host, err := ReadResolvConf(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Resolver{}, err
	}
	r := newResolver(host)
	if !r.Pod.onlyLoopback() {
		return r, nil
	}
	if behindStub, err := ReadResolvConf(systemdPath); err == nil && len(behindStub.Servers) > 0 {
		r = newResolver(behindStub)
		r.Host = host
	}
	return r, nil
}

// ReadResolvConf reads a resolv.conf file (A-NET-3): servers add up, the last
// search line wins, an option of the same name replaces an earlier one.
func ReadResolvConf(path string) (ResolvConf, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return ResolvConf{}, fmt.Errorf("read resolver configuration: %w", err)
	}
	var conf ResolvConf
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if fields[0] == "nameserver" && len(fields) < 2 {
			return ResolvConf{}, fmt.Errorf("read resolver configuration %s: a nameserver line without an address", path)
		}
		conf.add(fields[0], fields[1:])
	}
	return conf, nil
}

func (c *ResolvConf) add(keyword string, values []string) {
	switch keyword {
	case "nameserver":
		c.Servers = append(c.Servers, values[0])
	case "search":
		c.Searches = nil
		for _, domain := range values {
			if domain != "." {
				c.Searches = append(c.Searches, strings.TrimSuffix(domain, "."))
			}
		}
	case "options":
		for _, option := range values {
			c.Options = setOption(c.Options, option)
		}
	}
}

func (c ResolvConf) onlyLoopback() bool {
	for _, server := range c.Servers {
		addr, err := netip.ParseAddr(server)
		if err != nil || !addr.IsLoopback() {
			return false
		}
	}
	return len(c.Servers) > 0
}

// setOption adds an option such as ndots:5; one of the same name is replaced
// where it stands.
func setOption(options []string, option string) []string {
	name, _, _ := strings.Cut(option, ":")
	for i, other := range options {
		if otherName, _, _ := strings.Cut(other, ":"); otherName == name {
			options[i] = option
			return options
		}
	}
	return append(options, option)
}
