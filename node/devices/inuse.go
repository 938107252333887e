package devices

// anyDriver stands for all drivers together (A-DRA-13).
const anyDriver = "<any>"

// InUse is how many claims are prepared, by the names of the drivers that they have devices
// of, and all of them.
func (c *Claims) InUse() map[string]int {
	counts := map[string]int{anyDriver: 0}
	for _, claim := range c.store.list(func(e *entry) bool { return e.ready }) {
		counts[anyDriver]++
		for driver := range claim.DriverState {
			counts[driver]++
		}
	}
	return counts
}
