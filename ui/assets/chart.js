// Charts, drawn from the scenes of package timeline/draw.

import { h, say } from "./dom.js";

const barHeight = 14, pathBelow = 3;

const words = (bar) => [bar.title, ...(bar.detail ?? []).map((note) => note.text + (note.rule ? " [" + note.rule + "]" : ""))].join("\n");

const barOf = (bar, key) => h("g", { class: "bar", role: "img", tabindex: "0", "aria-label": words(bar), "data-key": key, "data-hint": true },
  h("rect", { class: bar.class + (bar.critical ? " on-path" : "") + (bar.open ? " open" : ""), x: bar.x, width: bar.width, y: bar.y, height: bar.height, rx: 2 }),
  bar.critical && h("line", { class: "path", x1: bar.x, x2: bar.end, y1: bar.y + bar.height + pathBelow, y2: bar.y + bar.height + pathBelow }),
  bar.inside && h("svg", { x: bar.x, y: 0, overflow: "visible" }, h("text", { class: "inside " + bar.class + "-text", x: 6, y: bar.y + bar.height - 3 }, bar.inside)));

// failures are drawn over all bars of a lane: each is at the place where the next one begins.
const failures = (bars) => bars.filter((bar) => bar.failed).map((bar) => h("svg", { class: "failure", x: bar.end, y: bar.y, overflow: "visible", "aria-hidden": "true" }, h("path", { class: "bad", d: "M-4 3L4 11M4 3L-4 11" })));

const dotOf = (dot, key) => h("svg", { class: "dot", x: dot.x, y: dot.y, overflow: "visible", role: "img", tabindex: "0", "aria-label": dot.title, "data-key": key, "data-hint": true },
  dot.bad ? h("path", { class: "bad", d: "M-4 -4L4 4M4 -4L-4 4" }) : h("circle", { class: "mark", r: 4 }));

// chart is a whole chart, with labels and an axis.
export const chart = (scene) => h("div", { class: "chart" },
  h("ol", { class: "labels" }, scene.lanes.map((lane) => h("li", { title: lane.label }, lane.label, lane.of && h("span", { class: "of" }, " " + lane.of)))),
  h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": scene.name },
    h("svg", { class: "plot", width: "100%", height: scene.height, role: "group", "aria-label": scene.name },
      scene.ticks.map((tick) => [
        h("line", { class: "grid", x1: tick.x, x2: tick.x, y1: 20, y2: scene.height }),
        h("text", { class: "tick", x: tick.x, y: 14, "text-anchor": tick.anchor }, tick.label)]),
      (scene.cuts ?? []).map((cut) => h("rect", { class: "cut", x: cut.x, width: cut.width, y: 20, height: scene.height })),
      (scene.links ?? []).map((link) => h("line", { class: "path", x1: link.x, x2: link.x, y1: link.from, y2: link.to })),
      scene.lanes.map((lane, i) => h("g", { "data-key": "lane" + i },
        h("line", { class: "grid", x1: 0, x2: "100%", y1: lane.y + 30, y2: lane.y + 30 }),
        (lane.bars ?? []).map((bar, j) => barOf(bar, "bar" + j)), failures(lane.bars ?? []),
        (lane.dots ?? []).map((dot, j) => dotOf(dot, "dot" + j)))))));

// strip is a pod's life in one lane, a picture beside its name.
export const strip = (scene, label) => {
  const lane = scene.lanes[0], top = lane.bars?.[0]?.y ?? 0;
  return h("svg", { class: "strip", width: "100%", height: barHeight, role: "img", "aria-label": label },
    (lane.bars ?? []).map((bar) => h("rect", { class: bar.class + (bar.open ? " open" : ""), x: bar.x, width: bar.width, y: bar.y - top, height: bar.height, rx: 2 })));
};

// shares is what a critical path is made of.
export const shares = (drawing) => drawing.parts && [
  h("h3", {}, drawing.path),
  h("svg", { class: "shares", width: "100%", height: 14, "aria-hidden": "true" },
    drawing.parts.map((part) => h("rect", { class: part.class, x: part.x, width: part.width, height: 14 }))),
  h("ul", { class: "lines" }, drawing.parts.map((part) => h("li", {},
    h("svg", { width: 12, height: 12, "aria-hidden": "true" }, h("rect", { class: part.class, width: 12, height: 12, rx: 2 })), part.text)))];

// legend says what the colours are.
export const legend = () => h("ul", { class: "legend", "aria-label": say("Legend") },
  [["work", say("work")], ["pull", say("image pull")], ["run", say("runs, not ready")], ["up", say("ready")], ["wait", say("waits")], ["stop", say("ends")], ["critical", say("critical path")]].map(([name, text]) =>
    h("li", {}, h("svg", { width: 18, height: 12, "aria-hidden": "true" },
      name === "critical" ? h("line", { class: "path", x1: 1, x2: 17, y1: 6, y2: 6 }) : h("rect", { class: name, width: 18, height: 9, y: 2, rx: 2 })), text)));

// Hints say what a bar is, under the pointer and at the focus.
const hint = document.getElementById("hint");
const hideHint = () => { hint.hidden = true; };
const showHint = (part, x, y) => {
  hint.textContent = part.getAttribute("aria-label");
  hint.hidden = false;
  const box = hint.getBoundingClientRect();
  hint.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  hint.style.top = (y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18) + "px";
};
document.addEventListener("pointermove", (event) => {
  const part = event.target.closest?.("[data-hint]");
  part ? showHint(part, event.clientX, event.clientY) : document.activeElement?.closest?.("[data-hint]") || hideHint();
});
document.addEventListener("focusin", (event) => {
  const part = event.target.closest("[data-hint]");
  if (!part) {
    hideHint();
    return;
  }
  const at = part.getBoundingClientRect();
  showHint(part, at.left, at.bottom);
});
document.addEventListener("keydown", (event) => event.key === "Escape" && hideHint());
