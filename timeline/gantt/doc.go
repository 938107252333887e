// Package gantt draws charts of package timeline in a terminal, of any width from MinWidth on. Without
// colours it says as much as with them.
package gantt
