// Package lifepodtest adds nodes to the API server of a test, on which pods really live: their
// containers start, become ready, crash, are restarted with back-off, and end, by the rules of
// lifepod, without a machine and without containers. It is for tests of operators with
// controller-runtime's envtest, whose pods otherwise stay Pending for ever, or with any other
// API server:
//
//	env := &envtest.Environment{}
//	config, err := env.Start()
//	…
//	lifepodtest.Start(t, config, lifepodtest.Options{Nodes: 3})
//	// from here on every pod that is created becomes Ready
//
// A module needs go get github.com/lifepod/lifepod/lifepodtest and no replace lines. Most of its 1,100 packages are Kubernetes',
// which take minutes to be compiled for the first time.
//
// What the containers of a pod do may be said by a scenario of lifepod sim (docs/sim.md): here
// the first instance of main crashes after a second, and the second one runs on.
//
//	const crash = `
//	apiVersion: lifepod.dev/v1alpha1
//	kind: Scenario
//	containers:
//	  main:
//	    runs: [{run: 1s, exit: 1}, {run: forever}]`
//	lifepodtest.Start(t, config, lifepodtest.Options{Scenarios: map[string]string{"": crash}})
//
// Pods live in real time, which may go faster for them (Options.Speed), or stand still until the test moves it on: that a
// job of an hour ends after an hour then takes a test no time, and no sleep.
//
//	nodes := lifepodtest.Start(t, config, lifepodtest.Options{Manual: true})
//	…
//	nodes.Advance(time.Hour)
//
// What containers have written can be asked of the API server, as of any cluster (GetLogs, kubectl
// logs); there are no processes for exec, attach and port-forward, which are refused. The nodes' API
// is at 127.0.0.1, and answers everybody.
package lifepodtest
