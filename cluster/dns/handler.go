package dns

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime/debug"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/edns"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

type handler struct {
	first plugin.Handler
	known *objects
	log   *slog.Logger
}

func (h *handler) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	defer func() {
		if cause := recover(); cause != nil {
			h.log.Error("cluster DNS: a question went wrong", "question", question.String(), "err", fmt.Errorf("panic: %v", cause), "stack", string(debug.Stack()))
			h.refuse(w, question, dns.RcodeServerFailure)
		}
	}()
	if len(question.Question) != 1 {
		h.refuse(w, question, dns.RcodeFormatError)
		return
	}
	if answer, err := edns.Version(question); err != nil {
		h.write(w, answer)
		return
	}
	if question.Question[0].Qclass != dns.ClassINET || !h.serves(w) {
		h.refuse(w, question, dns.RcodeRefused)
		return
	}
	w = request.NewScrubWriter(question, w)
	code, err := h.first.ServeDNS(context.Background(), w, question)
	if err != nil {
		h.log.Debug("cluster DNS: no answer", "name", question.Question[0].Name, "err", err)
	}
	if !plugin.ClientWrite(code) {
		h.refuse(w, question, code)
	}
}

// serves is whether the one who asks is of the cluster or of a private network.
func (h *handler) serves(w dns.ResponseWriter) bool {
	from, err := netip.ParseAddrPort(w.RemoteAddr().String())
	if err != nil {
		return false
	}
	a := from.Addr().Unmap()
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || shared.Contains(a) || h.known.ofNode(a)
}

// shared are addresses between a provider and its customers, RFC 6598, which
// overlay networks use, too.
var shared = netip.MustParsePrefix("100.64.0.0/10")

func (h *handler) refuse(w dns.ResponseWriter, question *dns.Msg, code int) {
	h.write(w, new(dns.Msg).SetRcode(question, code))
}

func (h *handler) write(w dns.ResponseWriter, answer *dns.Msg) {
	if err := w.WriteMsg(answer); err != nil {
		h.log.Debug("cluster DNS: send an answer", "err", err)
	}
}
