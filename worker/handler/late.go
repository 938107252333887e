package handler

import "time"

// pulse is how often an attempt under way looks whether it gets to run. Most
// attempts are over before the first time.
const pulse = 50 * time.Millisecond

// watchLateness measures how much too late timers come, from now until the
// function it gives is called, which says the sum.
func watchLateness() (stop func() time.Duration) {
	over := make(chan struct{})
	sum := make(chan time.Duration)
	go func() {
		var late time.Duration
		timer := time.NewTimer(pulse)
		defer timer.Stop()
		for due := time.Now().Add(pulse); ; due = time.Now().Add(pulse) {
			select {
			case <-timer.C:
				late += time.Since(due)
				timer.Reset(pulse)
			case <-over:
				sum <- late + max(0, time.Since(due))
				return
			}
		}
	}()
	return func() time.Duration {
		close(over)
		return <-sum
	}
}
