package traffic

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/cluster/proxy"
	"github.com/lifepod/lifepod/internal/assert"
)

// Traffic goes on while the process is away, and the next one follows changes again.
func TestRestart(t *testing.T) {
	apply(t, serving("stays")+service("stays", "stays", ""))
	awaitRollout(t, "stays")
	address := awaitAnswer(t, "stays")
	awaitPods(t, address, 2)
	up.Kill()
	visited(t, address)
	assert.Must(t, up.Run(t.Context()))
	visited(t, address)
	kubectl(t, "", "scale", "deployment/stays", "--replicas=1")
	awaitPods(t, address, 1)
}

// A cluster beside this one has addresses of its own, and leaves nothing behind.
func TestSideBySide(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	defer cancel()
	other := assert.Get(instance.Start(ctx, instance.Config{Program: up.Program})).Must(t)
	end := sync.OnceValue(func() error { return other.Close(ctx) })
	defer func() {
		assert.NoError(t, end())
	}()
	services := map[string]bool{}
	for _, i := range []*instance.Instance{up, other} {
		address := assert.Get(i.Kubectl(ctx, "", "get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}")).Must(t)
		services[address] = true
	}
	assert.True(t, len(services) == 2, "API servers have the service addresses %v, want two", slices.Collect(maps.Keys(services)))
	paths := assert.Get(bundle.Locate(other.Root, "")).Must(t)
	if table := proxy.Table(paths); !strings.Contains(tables(t), table) {
		t.Errorf("no table %s", table)
	} else if err := end(); err == nil && strings.Contains(tables(t), table) {
		t.Errorf("table %s is there after down", table)
	}
}
