package nodes

import (
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/sim/live"
)

// Time say what it is. The zero value is real time.
type Time struct {
	// Speed is how many times as fast as others pods live (docs/sim.md); 0: 1.
	Speed float64
	// Manual moves the time on, which else stands still; nil: it goes by itself.
	Manual *Manual
}

// Check says what is wrong with them.
func (o Time) Check() error {
	if o.Speed == 0 {
		return nil
	}
	if o.Manual != nil {
		return errors.New("pods can't have a speed, and a time that is moved on by hand")
	}
	if err := live.CheckSpeed(o.Speed); err != nil {
		return fmt.Errorf("speed %w", err)
	}
	return nil
}

// Begin begins it, for nodes whose pods client has; nil: it is real time.
func (o Time) Begin(client kubernetes.Interface) (live.VirtualTime, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	switch {
	case o.Manual != nil:
		return o.Manual.begin(client)
	case o.Speed != 0 && o.Speed != 1:
		return live.NewScaled(o.Speed), nil
	}
	return nil, nil
}
