package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/testbed"
)

// Clients at once, and how often an API server is asked whether it is ready.
const (
	clients   = 32
	readyPoll = 5 * time.Millisecond
	image     = "lifepod.dev/toolbox:1"
	namespace = metav1.NamespaceDefault
)

type client struct{ kubernetes.Interface }

func newClient(config *rest.Config) (*client, error) {
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	c, err := kubernetes.NewForConfig(config)
	return &client{c}, err
}

func (c *client) awaitReady(ctx context.Context) error {
	for {
		if _, err := c.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err == nil {
			return nil
		}
		if err := testbed.Sleep(ctx, readyPoll); err != nil {
			return err
		}
	}
}

// runFirst runs a pod; as soon as the namespace has its service account it can be
// created, as by a user who tries at once.
func (c *client) runFirst(ctx context.Context) error {
	for {
		_, err := c.CoreV1().Pods(namespace).Create(ctx, pod("first"), metav1.CreateOptions{})
		if err == nil {
			break
		}
		if e := testbed.Sleep(ctx, readyPoll); e != nil {
			return errors.Join(e, err)
		}
	}
	return c.await(ctx, 1)
}

func pod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers:                    []v1.Container{{Name: "main", Image: image, Command: []string{"sleep", "36000"}}},
			// A node that has just registered is tainted until its controller has seen it.
			Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists}},
		},
	}
}

// await returns when so many pods run.
func (c *client) await(ctx context.Context, n int) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	board := testbed.NewBoard[*v1.Pod]()
	go board.Run(watching, c.CoreV1().Pods(namespace).Watch)
	_, err := board.Await(ctx, "pods to run", func(pods map[string]*v1.Pod) bool {
		running := 0
		for _, pod := range pods {
			if pod.Status.Phase == v1.PodRunning {
				running++
			}
		}
		return running >= n
	})
	return err
}

func (c *client) runPods(ctx context.Context, n int) error {
	if err := bare.Together(clients, n, func(i int) error {
		_, err := c.CoreV1().Pods(namespace).Create(ctx, pod(fmt.Sprintf("idle-%d", i)), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	return c.await(ctx, n+1)
}

func (c *client) removePods(ctx context.Context) error {
	if err := c.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))}, metav1.ListOptions{}); err != nil {
		return err
	}
	for {
		list, err := c.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return err
		}
		if err := testbed.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
