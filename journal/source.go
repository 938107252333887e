package journal

// Source is where a journal is read: a Folder, or another machine's (package journal/remote).
type Source interface {
	// Pods lists the pods that the journal has.
	Pods() ([]Pod, error)
	// Read returns what it has of one; for one that it doesn't have errors.Is(err,
	// fs.ErrNotExist) holds.
	Read(uid string) (*Record, error)
}
