// Package systemlog answers /logs/ of the node's API: the files of /var/log and, if the
// configuration has enableSystemLogQuery, queries of what services of the machine have
// logged (KEP-2258): from the journal, or from files of their names.
package systemlog
