// What each view shows, made anew from what the server tells.

import { h } from "./dom.js";
import { chart, strip, shares, legend } from "./chart.js";

export const tables = { allpods: "All pods", deployments: "Deployments", jobs: "Jobs", services: "Services", nodes: "Nodes", events: "Events" };

const podLink = (uid, view) => "#/pod/" + encodeURIComponent(uid) + (view ? "/" + view : "");
const status = (row) => h("span", { class: "status " + row.tone }, h("span", { class: "sign", "aria-hidden": "true" }), row.status);

export const nav = (route, cluster) => h("ul", {},
  h("li", {}, h("a", { href: "#/", "aria-current": route.view === "list" ? "page" : null }, "Pods")),
  cluster && Object.entries(tables).map(([name, text]) => h("li", {}, h("a", { href: "#/" + name, "aria-current": route.table === name ? "page" : null }, text))));

const podCard = (row) => h("li", { class: "pod", "data-key": row.uid },
  h("a", { class: "name", href: podLink(row.uid) }, h("span", { class: "namespace" }, row.namespace + "/"), row.name),
  status(row),
  h("dl", { class: "facts" },
    [["Ready", row.ready], ["Restarts", row.restarts], ["Age", row.age], ["IP", row.ip]].filter(([, text]) => text && text !== "<none>").map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text)))),
  row.strip && strip(row.strip, "Life of " + row.name));

const goneCard = (row) => h("li", { class: "pod", "data-key": row.uid },
  h("a", { class: "name", href: podLink(row.uid) }, h("span", { class: "namespace" }, row.namespace + "/"), row.name),
  status(row),
  h("dl", { class: "facts" }, h("div", {}, h("dt", {}, "Gone for"), h("dd", {}, row.age))),
  row.strip && strip(row.strip, "Life of " + row.name));

const counted = (pods) => {
  const good = pods.filter((pod) => pod.tone === "good" || pod.tone === "done").length;
  if (pods.length === 0) {
    return "No pod runs.";
  }
  return pods.length + (pods.length === 1 ? " pod, " : " pods, ") + (good === pods.length ? "all as they should be" : pods.length - good + " to look at");
};

export const list = (overview) => [
  h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Pods"), h("p", { class: "sub" }, counted(overview.pods))),
  (overview.warnings ?? []).map((text) => h("p", { class: "card warning" }, text)),
  overview.troubles && h("section", { class: "card why", "aria-labelledby": "why-title" },
    h("h2", { id: "why-title" }, "What is not as it should be"),
    h("ul", {}, overview.troubles.map((trouble) => h("li", {},
      h("p", { class: "who" }, trouble.pods.map((pod, i) => [i > 0 && ", ", h("a", { href: podLink(pod.uid) }, pod.name)])),
      h("p", {}, trouble.text))))),
  overview.pods.length === 0 && h("div", { class: "card empty" },
    h("p", {}, "Start one, and it appears here:"), h("pre", { tabindex: "0" }, "lifepod run examples/hello.yaml")),
  h("ul", { class: "pods", "aria-label": "Pods" }, overview.pods.map(podCard)),
  overview.gone && h("section", { "aria-labelledby": "gone-title" }, h("h2", { id: "gone-title" }, "Gone"),
    h("p", { class: "sub" }, "What the journal has of them stays for some days."),
    h("ul", { class: "pods gone", "aria-label": "Pods that are gone" }, overview.gone.map(goneCard)))];

const grid = (label, columns, rows) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label + ", table" },
  h("table", {}, h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => (i === 0 && cell
      ? h("th", { scope: "row", "data-label": columns[i] }, cell) : h("td", { "data-label": columns[i] }, cell))))))));

const whyCard = (pod) => pod.standing && h("section", { class: "card why", "aria-labelledby": "why-title" },
  h("h2", { id: "why-title" }, "Why"),
  h("p", { class: "standing" }, pod.standing),
  pod.why ? h("ul", {}, pod.why.map((one) => h("li", { class: one.kind }, one.text,
    (one.rules ?? []).map((number) => [" ", h("button", { type: "button", class: "rule", "data-do": "rule", "data-rule": number, "aria-label": "Rule " + number }, number)]))))
    : h("p", {}, "It is as it should be: it waits for nothing, and nothing of it was restarted."));

const timelineCard = (drawing) => drawing && h("section", { class: "card", "aria-labelledby": "timeline-title" },
  h("h2", { id: "timeline-title" }, "Timeline"),
  h("p", { class: "sub" }, drawing.sub),
  chart(drawing.scene), legend(), shares(drawing),
  h("details", {}, h("summary", {}, "Every step"),
    grid("Every step", ["Row", "Step", "Began", "Took", "Reason and rule"], (drawing.steps ?? []).map((step) => [
      step.row, step.step + (step.failed ? ", failed" : "") + (step.critical ? ", critical path" : ""), step.begin, step.took ?? "",
      (step.notes ?? []).map((note) => note.text + (note.rule ? " [" + note.rule + "]" : "")).join("; ")]))));

const button = (text, what, more) => h("button", { type: "button", "data-do": what, ...more }, text);

const actions = (pod) => h("div", { class: "buttons" },
  (pod.can.restart ?? []).length > 1
    ? h("label", {}, h("span", { class: "unseen" }, "What to restart"), h("select", { id: "restart", "data-own": true },
      h("option", { value: "" }, "all containers"), pod.can.restart.map((name) => h("option", { value: name }, name)))) : null,
  pod.can.restart && button("Restart …", "restart", { "data-only": pod.can.restart.length === 1 ? pod.can.restart[0] : null }),
  pod.can.stop && button("Stop …", "stop", { class: "danger" }));

export const podHead = (pod, view) => [
  h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Pods"), " / ", pod.namespace),
  h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, pod.name), status(pod), actions(pod)),
  pod.headline && h("p", { class: "sub" }, [pod.headline, pod.ready + " ready", pod.restarts + " restarts", "age " + pod.age, pod.ip !== "<none>" && pod.ip].filter(Boolean).join(" · ")),
  pod.notice && h("p", { class: "card warning" }, pod.notice),
  h("nav", { class: "tabs", "aria-label": "Views of " + pod.name }, h("ul", {},
    [["", "Overview"], ["log", "Log"], ["console", "Console"]].filter(([name]) => name === "" || (name === "log" ? pod.can.log : pod.can.exec)).map(([name, text]) =>
      h("li", {}, h("a", { href: podLink(pod.uid, name), "aria-current": view === name ? "page" : null }, text)))))];

export const podBody = (pod) => [
  whyCard(pod), timelineCard(pod.timeline),
  pod.containers && h("section", { class: "card", "aria-labelledby": "containers-title" }, h("h2", { id: "containers-title" }, "Containers"),
    grid("Containers", ["Name", "Kind", "Ready", "Restarts", "State"], pod.containers)),
  pod.conditions && h("section", { class: "card", "aria-labelledby": "conditions-title" }, h("h2", { id: "conditions-title" }, "Conditions"),
    grid("Conditions", ["Type", "Status", "Since", "Reason"], pod.conditions)),
  pod.events && h("section", { class: "card", "aria-labelledby": "events-title" }, h("h2", { id: "events-title" }, "Events"),
    grid("Events", ["Last", "Type", "Reason", "Of", "Message"], pod.events.toReversed()))];

export const table = (name, data) => [
  h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, tables[name]), data?.rows && h("p", { class: "sub" }, data.rows.length + (data.more ? ", there are more" : ""))),
  !data && h("p", { class: "sub" }, "Asking the API server …"),
  data?.error && h("p", { class: "card warning" }, (data.forbidden ? "You may not see this: " : "") + data.error),
  data?.rows && (data.rows.length > 0 ? h("section", { class: "card", "aria-label": tables[name] }, grid(tables[name], data.columns, data.rows))
    : h("p", { class: "card empty" }, "There is none."))];
