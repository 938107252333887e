package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

// guard lets requests pass whose users may do what they ask.
type guard struct {
	who authenticator.Request
	// certificates are one of the ways in which it finds that out; nil: they are not.
	certificates authenticator.Request
	access       *access                      // nil: everybody may do everything
	nodeOf       func(r *http.Request) string // the node that is asked about; empty: all nodes
	log          *slog.Logger
}

func newGuard(c *Config) (*guard, error) {
	certificates, err := newCertificates(c)
	if err != nil {
		return nil, err
	}
	who, err := newAuthenticator(c, certificates)
	if err != nil {
		return nil, err
	}
	g := &guard{who: who, certificates: certificates, nodeOf: c.Access.nodeAsked, log: c.Log}
	switch mode := c.Kubelet.Authorization.Mode; mode {
	case kubeletconfig.KubeletAuthorizationModeAlwaysAllow:
	case kubeletconfig.KubeletAuthorizationModeWebhook:
		if c.Client == nil {
			return nil, errors.New("authorization.mode Webhook: no client provided, cannot use webhook authorization: without --kubeconfig set it to AlwaysAllow")
		}
		g.access = newAccess(c.Client.AuthorizationV1().SubjectAccessReviews(), c.Kubelet.Authorization.Webhook)
	case "":
		return nil, errors.New("authorization.mode: no authorization mode specified: want Webhook or AlwaysAllow")
	default:
		return nil, fmt.Errorf("authorization.mode: unknown authorization mode %s: want Webhook or AlwaysAllow", mode)
	}
	return g, nil
}

// protect answers 401 and 403 in the words of the kubelet.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, ok, err := g.who.AuthenticateRequest(r)
		if err != nil {
			g.log.Warn("can't authenticate a request to the node's API", "from", r.RemoteAddr, "err", err)
		}
		if err != nil || !ok {
			refuse(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		if g.access == nil || g.authorised(w, r, response.User) {
			next.ServeHTTP(w, r)
		}
	})
}

// authorised asks for the subresources one after the other; if none is allowed
// it has answered.
func (g *guard) authorised(w http.ResponseWriter, r *http.Request, who user.Info) bool {
	node, verb, subresources := g.nodeOf(r), verbOf(r.Method), subresourcesOf(r.URL.Path)
	for _, subresource := range subresources {
		allowed, err := g.access.allowed(r.Context(), who, request{node: node, verb: verb, subresource: subresource})
		if err != nil {
			g.log.Warn("can't authorize a request to the node's API", "user", who.GetName(), "verb", verb, "subresource", subresource, "err", err)
			refuse(w, http.StatusInternalServerError, fmt.Sprintf(
				"Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)", who.GetName(), verb, subresource))
			return false
		}
		if allowed {
			return true
		}
	}
	refuse(w, http.StatusForbidden, fmt.Sprintf(
		"Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)\n", who.GetName(), verb, subresources))
	return false
}

// nodeAsked is the node that a request is about; empty: all that the server is for.
func (c *Access) nodeAsked(r *http.Request) string {
	if c.NodeOf == nil {
		return c.NodeName
	}
	parts := strings.Split(r.URL.EscapedPath(), "/") // as the routes take it apart
	if len(parts) == 4 && parts[1] == "metrics" && parts[2] == "resource" {
		return parts[3] // the name of a Node has nothing that is escaped
	}
	if len(parts) < 4 || !slices.Contains(ofPods, parts[1]) {
		return ""
	}
	namespace, err := url.PathUnescape(parts[2])
	pod, err2 := url.PathUnescape(parts[3])
	if err != nil || err2 != nil {
		return ""
	}
	return c.NodeOf(namespace, pod)
}

// ofPods begin the paths in which a namespace and the name of a pod follow.
var ofPods = []string{"containerLogs", "exec", "attach", "portForward", "run"}

// verbOf is the verb of the API for a method; empty for methods that it lacks.
func verbOf(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodGet:
		return "get"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

// subresourcesOf are the subresources of nodes that allow a path, the finest
// first (KEP-2862).
func subresourcesOf(path string) []string {
	for _, one := range []struct {
		path         string
		subresources []string
	}{
		{"/pods", []string{"pods", "proxy"}},
		{"/healthz", []string{"healthz", "proxy"}},
		{"/configz", []string{"configz", "proxy"}},
		{"/runningpods", []string{"pods", "proxy"}},
		{"/stats", []string{"stats"}},
		{"/metrics", []string{"metrics"}},
		{"/logs", []string{"log"}},
		{"/checkpoint", []string{"checkpoint"}},
		{"/statusz", []string{"statusz"}},
		{"/flagz", []string{"configz"}},
	} {
		if below(path, one.path) {
			return one.subresources
		}
	}
	return []string{"proxy"}
}
