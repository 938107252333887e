// Package cricheck says, as tests, what lifepod relies on in a container
// runtime beyond the letter of CRI. Real runtimes and the fake of package
// crifake pass the same checks, so that what is tested on the fake holds.
package cricheck
