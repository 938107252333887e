// Starts the page. A browser breaks off what it loads when an address of the machine comes or goes (ERR_NETWORK_CHANGED), as
// with every pod; then the page is loaded again.

const again = () => setTimeout(() => location.reload(), 300);

if ([...document.querySelectorAll("link[rel=stylesheet]")].every((link) => link.sheet)) {
  import("./app.js").then((app) => app.start(), again);
} else {
  again();
}
