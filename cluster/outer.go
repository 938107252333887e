package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/lifepod/lifepod/cluster/etcd"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/state"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// outer is what a root remembers of the etcd that has its state.
type outer struct {
	Endpoints []string `json:"endpoints"`
	Prefix    string   `json:"prefix"`
	Identity  string   `json:"identity"` // of this server, among several
}

const outerFile = "outer-etcd.json"

// outerBefore is what the last start has left; empty if the state is this root's own.
func (l *layout) outerBefore() (o outer, err error) {
	text, err := os.ReadFile(l.file(outerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return o, fmt.Errorf("where the state of the cluster is: %w", err)
	}
	return o, nil
}

func (o outer) String() string { return strings.Join(o.Endpoints, ",") }

// chooseState finds out whether this root may use the etcd that it is given, before
// anything is written or started.
func (l *layout) chooseState(ctx context.Context) error {
	before, err := l.outerBefore()
	if err != nil {
		return err
	}
	if err := l.Etcd.Validate(); err != nil {
		return err
	}
	if !l.Etcd.Given() {
		return l.ownState(before)
	}
	if _, err := os.Stat(l.file("etcd")); err == nil {
		return fmt.Errorf("--etcd-endpoints: the cluster of %s has its state in %s: want another --root", l.Root, l.file("etcd"))
	}
	if l.Backup.Every > 0 {
		return errors.New("--backup-every is for the state of an etcd of lifepod's own: back the etcd of --etcd-endpoints up with its own tools (etcdctl snapshot save)")
	}
	if err := l.Etcd.Check(ctx, l.Log); err != nil {
		return err
	}
	l.identity = before.Identity
	if l.identity == "" {
		l.identity = l.Node + "_" + string(uuid.NewUUID())
	}
	if l.Keys != "" {
		if err := pki.Share(l.Keys, l.file("pki")); err != nil {
			return fmt.Errorf("--keys: %w", err)
		}
	}
	found, err := l.Etcd.Find(ctx)
	if err != nil || found == nil {
		return err
	}
	return l.accept(found)
}

// ownState refuses what is for another etcd.
func (l *layout) ownState(before outer) error {
	switch {
	case l.Server:
		return errors.New("--server: several servers share the state of an etcd cluster: want --etcd-endpoints as well")
	case l.Keys != "":
		return errors.New("--keys is for --server")
	case len(before.Endpoints) > 0:
		return fmt.Errorf("the cluster of %s has its state on the etcd at %s: want --etcd-endpoints", l.Root, before)
	}
	return nil
}

// accept takes a cluster that is there for ours, if it is.
func (l *layout) accept(r *state.Record) error {
	where := fmt.Sprintf("the etcd at %s, %s,", strings.Join(l.Etcd.Endpoints, ","), l.Etcd.Prefix)
	own, err := pki.Fingerprints(l.file("pki"))
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return fmt.Errorf("%s has a cluster already: to be one more server of it, --server and its keys are needed: copy ROOT/cluster/pki of a server that is there, and give the copy with --keys FOLDER; for a cluster of its own, another --etcd-prefix", where)
	}
	for name, want := range r.Keys {
		if own[name] != want {
			return fmt.Errorf("%s has another cluster: its %s is %s, and %s is %s: want the keys of that cluster (--keys, another --root), or another --etcd-prefix",
				where, name, want, l.file("pki/"+name), own[name])
		}
	}
	if r.Founder != l.identity && !l.Server {
		return fmt.Errorf("%s has a cluster that another server has begun: want --server, to be one more of its servers", where)
	}
	if r.Pods != "" {
		if l.pods, err = netip.ParsePrefix(r.Pods); err != nil {
			return fmt.Errorf("%s has a cluster with the pod addresses %q: %w", where, r.Pods, err)
		}
	}
	if r.Services == "" {
		return nil
	}
	if l.services, err = netip.ParsePrefix(r.Services); err != nil || !l.services.Addr().Is4() {
		return fmt.Errorf("%s has a cluster with the service addresses %s: lifepod has IPv4 only", where, r.Services)
	}
	return nil
}

// openedState is where the API server has its objects.
type openedState struct {
	place state.Place
	ready func() error // returns when it serves; clients may connect before, and wait
	close func()
}

// openState is an etcd in this process, or another one, on which this cluster is recorded by
// its keys.
func (r *run) openState(g *group, keys func() error) (openedState, error) {
	if r.Etcd.Given() {
		if err := keys(); err != nil {
			return openedState{}, err
		}
		return openedState{place: r.Etcd, ready: func() error { return nil }, close: func() {}}, r.found(g.ctx)
	}
	store, err := etcd.Start(g.ctx, etcd.Config{Dir: r.file("etcd"), RunDir: r.paths.RunDir, Log: r.Log})
	if err != nil {
		return openedState{}, err
	}
	ready := func() error {
		err := store.AwaitReady(g.ctx)
		if err == nil {
			g.essential("etcd", store.Run)
		}
		return err
	}
	return openedState{place: state.Place{Endpoints: []string{store.Endpoint()}}, ready: ready, close: store.Close}, nil
}

// found records this cluster, or takes the one that somebody else has begun
// meanwhile for ours if it is.
func (r *run) found(ctx context.Context) error {
	text, err := json.Marshal(outer{Endpoints: r.Etcd.Endpoints, Prefix: r.Etcd.Prefix, Identity: r.identity})
	if err != nil {
		return err
	}
	if err := wholefile.Write(r.file(outerFile), text); err != nil {
		return err
	}
	own, err := pki.Fingerprints(r.file("pki"))
	if err != nil {
		return err
	}
	ours := state.Record{Services: r.services.String(), Pods: r.pods.String(), Keys: own, Founder: r.identity}
	there, err := r.Etcd.Found(ctx, ours)
	if err != nil {
		return err
	}
	if err := r.accept(there); err != nil {
		return err
	}
	if there.Services != "" && there.Services != ours.Services || there.Pods != "" && there.Pods != ours.Pods {
		return fmt.Errorf("another server has begun the cluster just now, with the service addresses %s and the pod addresses %s: start this one again", there.Services, there.Pods)
	}
	return nil
}
