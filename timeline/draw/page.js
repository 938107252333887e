"use strict";
(() => {
  const plots = [...document.querySelectorAll(".plot")];
  const hint = document.querySelector(".hint");
  const least = 1, most = 64;
  let zoom = 1;

  // zoomTo makes charts that much wider than their place, and keeps what is in the middle there.
  const zoomTo = (next) => {
    next = Math.min(most, Math.max(least, next));
    for (const plot of plots) {
      const place = plot.parentElement;
      const middle = (place.scrollLeft + place.clientWidth / 2) / place.scrollWidth;
      plot.setAttribute("width", next * 100 + "%");
      place.scrollLeft = middle * place.scrollWidth - place.clientWidth / 2;
    }
    zoom = next;
  };
  const tools = { in: () => zoomTo(zoom * 1.5), out: () => zoomTo(zoom / 1.5), fit: () => zoomTo(least) };
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", tools[button.dataset.zoom]);
  }
  document.querySelector(".tools").hidden = false;
  document.addEventListener("keydown", (event) => {
    const key = { "+": "in", "=": "in", "-": "out", "0": "fit" }[event.key];
    if (key && !event.ctrlKey && !event.metaKey && !event.altKey) {
      tools[key]();
    }
    if (event.key === "Escape") {
      hint.hidden = true;
    }
  });
  for (const plot of plots) {
    plot.parentElement.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoomTo(zoom * (event.deltaY < 0 ? 1.2 : 1 / 1.2));
      }
    }, { passive: false });
  }

  // What is said of a bar is in its title for those without script; here it is shown at once.
  const show = (part, x, y) => {
    hint.textContent = part.getAttribute("aria-label");
    hint.hidden = false;
    const box = hint.getBoundingClientRect();
    hint.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
    hint.style.top = (y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18) + "px";
  };
  const hide = () => { hint.hidden = true; };
  for (const part of document.querySelectorAll(".plot .bar, .plot .dot")) {
    part.querySelector("title").remove();
    part.setAttribute("tabindex", "0");
    part.addEventListener("pointermove", (event) => show(part, event.clientX, event.clientY));
    part.addEventListener("pointerleave", hide);
    part.addEventListener("focus", () => {
      const at = part.getBoundingClientRect();
      show(part, at.left, at.bottom);
    });
    part.addEventListener("blur", hide);
  }
})();
