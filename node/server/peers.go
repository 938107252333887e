package server

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/lifepod/lifepod/node/groups/transport"
)

// Peers serves other nodes.
type Peers interface {
	ServePeer(w http.ResponseWriter, r *http.Request, node string)
}

// orPeers has the requests of other nodes served. Who they are, their client certificates say, and nothing else does; the API
// server is not asked what they may do.
func (s *Server) orPeers(others http.Handler) http.Handler {
	if s.Peers == nil || s.guard.certificates == nil {
		return others
	}
	peers := s.listeners[0].Admitting(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Peers.ServePeer(w, r, strings.TrimPrefix(r.TLS.PeerCertificates[0].Subject.CommonName, transport.UserPrefix))
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, transport.Path) {
			others.ServeHTTP(w, r)
			return
		}
		response, ok, err := s.guard.certificates.AuthenticateRequest(r)
		if err != nil || !ok || !isNode(response.User) {
			s.Log.Debug("a request for nodes is not that of a node", "from", r.RemoteAddr, "err", err)
			refuse(w, http.StatusForbidden, "only nodes, by their client certificates")
			return
		}
		peers.ServeHTTP(w, r)
	})
}

func isNode(who user.Info) bool {
	return strings.HasPrefix(who.GetName(), transport.UserPrefix) && slices.Contains(who.GetGroups(), user.NodesGroup)
}
