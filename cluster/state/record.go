package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Record is what all servers of a cluster have to agree on, written once by the
// first of them.
type Record struct {
	Services string            `json:"services"` // range of service addresses
	Pods     string            `json:"pods"`     // range of pod addresses
	Keys     map[string]string `json:"keys"`     // fingerprints, by file: see pki.Fingerprints
	Founder  string            `json:"founder"`  // identity of the first server
}

// recordKey is beside the objects: their groups are called otherwise.
func (p Place) recordKey() string { return p.prefix() + "/lifepod/cluster" }

func (p Place) client() (*clientv3.Client, error) {
	config, err := p.tls()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(p.Endpoints[0], "https:") {
		config = nil // it would be used with a socket
	}
	return clientv3.New(clientv3.Config{Endpoints: p.Endpoints, TLS: config, DialTimeout: answerTimeout, Logger: zap.NewNop()})
}

// Find is the record of the cluster that is there, nil if there is none. A cluster
// that lifepod has not begun has one made of what is known of it.
func (p Place) Find(ctx context.Context) (*Record, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }() // nothing is under way
	answer, err := client.Get(ctx, p.recordKey())
	if err != nil {
		return nil, fmt.Errorf("read %s of etcd: %w", p.recordKey(), p.explain(err, true))
	}
	if len(answer.Kvs) == 0 {
		return p.others(ctx, client)
	}
	return p.parse(answer.Kvs[0].Value)
}

func (p Place) parse(text []byte) (*Record, error) {
	r := &Record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("what %s of etcd says: %w", p.recordKey(), err)
	}
	return r, nil
}

// Found writes the record, unless another server has done so first: the one that is
// there then is returned.
func (p Place) Found(ctx context.Context, r Record) (*Record, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }() // nothing is under way
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	key := p.recordKey()
	answer, err := client.Txn(ctx).If(clientv3.Compare(clientv3.Version(key), "=", 0)).
		Then(clientv3.OpPut(key, string(text))).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return nil, fmt.Errorf("write %s of etcd: %w", key, p.explain(err, true))
	}
	if answer.Succeeded {
		return &r, nil
	}
	return p.parse(answer.Responses[0].GetResponseRange().Kvs[0].Value)
}
