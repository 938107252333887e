//go:build !cgo

package detach

func waits() bool { return false }

func tellAnswered() error { return nil }

func name([]string) {}
