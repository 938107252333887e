//go:build cgo

package deleted

import "C" // repeat.c is part of the program
