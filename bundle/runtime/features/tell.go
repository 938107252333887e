//go:build cgo

package features

import "C" // tell.c is part of the program
