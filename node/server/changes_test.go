package server

import "testing"

// TestChanges: who waits is woken by the next change, and nothing is kept of a pod for
// which nobody waits any more, woken or not.
func TestChanges(t *testing.T) {
	var c Changes
	first, forgetFirst := c.next("a")
	second, forgetSecond := c.next("a")
	_, forgetOther := c.next("b")
	forgetFirst()
	c.Changed("a")
	third, forgetThird := c.next("a")
	<-first
	<-second
	forgetSecond() // of the change before
	c.Changed("a")
	<-third
	forgetThird()
	forgetOther()
	if len(c.pods) != 0 {
		t.Errorf("%d pods are kept", len(c.pods))
	}
}
