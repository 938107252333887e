// Package atstart has a program that is a command hardly collect its heap at first, from before main on: what packages make
// at their beginning is kept, and not worth the two collections that were a third of the CPU that lifepod took to begin.
package atstart

import (
	"time"

	"github.com/lifepod/lifepod/internal/garbage"
)

// This package is initialized before those that make much, by its path.
func init() { garbage.Suppose(garbage.Seldom) }

// long is what takes longer than a command that ends soon.
const long = 5 * time.Second

// Over is called once, by main. A command that takes long gets Go's usual limit, unless it allows another one.
func Over() { time.AfterFunc(long, func() { garbage.Suppose(garbage.Usual) }) }
