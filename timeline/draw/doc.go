// Package draw draws charts of package timeline: as text in a terminal, as an SVG and as a page.
//
// gantt.go draws charts of package timeline in a terminal, of any width from MinWidth on. Without
// colours it says as much as with them.
//
// scene.go draws charts of package timeline as an SVG, and as one HTML page that needs nothing else:
// light and dark, with zoom and hints by script, and complete as a table without.
//
// All text of pods goes through package plain, and by html/template into the page. Its policy of content
// (CSP) allows the page's own style and script, by their hashes, and nothing else.
package draw
