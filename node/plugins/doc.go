// Package plugins finds the drivers that register themselves by a socket in a folder of the
// node, plugins_registry, and gives each to the part of the agent that uses drivers of its
// type: CSI drivers, DRA drivers, device plugins (A-PLUG). A driver that hangs holds up its
// own registration only.
package plugins
