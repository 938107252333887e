package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/journal/remote"
)

// apiTimeout is how long the API server of the state folder's cluster may take: what this machine knows is shown without it.
const apiTimeout = 5 * time.Second

// uidLength is the length of the UIDs that an API server gives.
const uidLength = 36

// kubeconfig is that of the cluster of lifepod up in the state folder; empty: there is none.
func (g *global) kubeconfig() string {
	path := filepath.Join(rootfolder.Cluster.In(g.root), "kubeconfig")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// cluster reaches the API server of the state folder's cluster; nil: there is none.
func (g *global) cluster() (kubernetes.Interface, error) {
	path := g.kubeconfig()
	if path == "" {
		return nil, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	config.Timeout, config.WarningHandler = apiTimeout, rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return client, nil
}

// ownCluster is what the API server knows beside the journals of this machine: pods that no node has, and those of other nodes.
type ownCluster struct {
	*remote.Cluster
	warnings io.Writer
}

// Pods lists none if the API server does not answer, and warns.
func (c ownCluster) Pods() ([]journal.Pod, error) {
	pods, err := c.Cluster.Pods()
	if err != nil && c.Context.Err() == nil {
		warn(c.warnings, "the cluster's API server does not answer, so that pods which this machine has not had are not known: %v", err)
		return nil, nil
	}
	return pods, err
}

// elsewhere are the pods of that name or UID that the API server has, wherever they are.
func (g *global) elsewhere(ctx context.Context, nameOrUID string) ([]v1.Pod, error) {
	client, err := g.cluster()
	if err != nil || client == nil {
		return nil, err
	}
	of := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, nameOrUID).String()}
	list, err := client.CoreV1().Pods("").List(ctx, of)
	if err == nil && len(list.Items) == 0 && len(nameOrUID) == uidLength { // there is no selector of UIDs
		list, err = client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	}
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		list.Items[i].APIVersion, list.Items[i].Kind = "v1", "Pod"
	}
	return list.Items, nil
}
