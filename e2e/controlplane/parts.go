package controlplane

// Parts is what measurements may want different of separate parts.
type Parts struct {
	// Audit has the API server log what nodes and pods write, see AuditLog.
	Audit bool
	// Sync has etcd wait until the disk has what it writes, as it does for its users; tests have no use for that.
	Sync bool
	// QPS is how many requests in a second the scheduler and the controllers make at most; 0: as
	// many as they do by themselves.
	QPS int
}
