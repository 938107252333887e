package controllers

import (
	"testing"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"

	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestNodeSettings compares the settings of the node lifecycle controller with those of kube-controller-manager without flags. Some
// settings get their default from their flag alone.
func TestNodeSettings(t *testing.T) {
	upstream := assert.Get(kcm.NewKubeControllerManagerOptions()).Must(t)
	upstream.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	ours := assert.Get(Config{Keys: &pki.Folder{}}.settings()).Must(t)
	assert.Deep(t, "settings", *upstream.NodeLifecycleController.NodeLifecycleControllerConfiguration, ours.NodeLifecycleController)
	assert.True(t, ours.NodeLifecycleController.NodeEvictionRate > 0, "no pod ever leaves a lost node")
}
