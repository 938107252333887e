// Package transport carries what the nodes of a group tell each other (B-GRP): over their own APIs, from node to node,
// by mutual TLS. It knows nothing of pods. One node of a group leads it; the others join it, each with one request, and
// then have one stream each, to the parent that the leader has given them: a tree.
//
//	                 leader ── Tell: a verdict, for all
//	Hear: reports       ▲  │
//	                 ┌┴┐ ▼  at most 32 children each
//	                relays
//	                 ┌┴┐ │
//	                 ▲  │▼
//	              members ── Tell: a report, for the leader
//
// A report and a verdict are the whole of what their sender has to say (level-based): of each sender only the newest is
// kept and passed on, so that nobody waits for a slow peer. After a stream was lost, the newest go over the next one.
//
// Nobody between a member and the leader is believed:
//
//   - Who a peer is, its certificate says: system:node:NAME, of the cluster's authority, on both sides ([HTTPS] for that of
//     servers, node/server for that of clients).
//   - A report has a MAC, by a key that its node has given to the leader in the join. A verdict has a signature, by a key that
//     the leader has given to the member there. These keys are a process's own and are not kept: the node's certificate
//     may be renewed meanwhile, and its key never signs what others send.
//   - Both are of one group, one leadership (term) and one sender, and have a number: an old one counts nowhere.
//   - A node takes as a child only whom the leader has sent, by its signature (ticket).
//
// A hostile member can keep its group waiting, as it can without saying anything; it can't speak for another.
package transport
