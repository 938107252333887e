// What each view shows, made anew from what the server tells.

import { h, say } from "./dom.js";
import { chart, strip, shares, legend } from "./chart.js";

export const tables = { deployments: "Deployments", statefulsets: "StatefulSets", daemonsets: "DaemonSets", jobs: "Jobs", services: "Services", claims: "Claims", nodes: "Nodes", events: "Events" };
const tones = { bad: say("failing"), wait: say("waiting"), good: say("ready"), done: say("done"), gone: say("gone") };
const mostCards = 200, mostTroubles = 3, mostNames = 2;

// linkTo is the address of a list with some of the route changed: of which object, in which state (is), found by which words (q).
export const linkTo = (route, change) => {
  const { table = "", of, is, q } = { ...route, ...change };
  const query = new URLSearchParams(Object.entries({ of, is, q }).filter(([, value]) => value));
  return "#/" + table + (query.size > 0 ? "?" + query : "");
};
const podLink = (uid, view) => "#/pod/" + encodeURIComponent(uid) + (view ? "/" + view : "");
const matches = (text, q = "") => q.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));
const sign = () => h("span", { class: "sign", "aria-hidden": "true" });
const status = (row) => h("span", { class: "status " + row.tone }, sign(), row.status);

export const nav = (route, cluster) => h("ul", {},
  h("li", {}, h("a", { href: "#/", "aria-current": route.view === "list" ? "page" : null }, "Pods")),
  cluster && Object.entries(tables).map(([name, text]) => h("li", {}, h("a", { href: "#/" + name, "aria-current": route.table === name ? "page" : null }, text))));

const restarts = (row, text) => text + (row.restarted ? say(", last %s", row.restarted).replace(/(?<!,) /g, "\u00a0") : "");

const card = (row, ...facts) => h("li", { class: "pod", "data-key": row.uid },
  h("a", { class: "name", href: podLink(row.uid) }, h("span", { class: "namespace" }, row.namespace + "/"), row.name),
  status(row),
  h("dl", { class: "facts" }, facts.filter(([, text]) => text !== "<none>").map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text)))),
  row.strip && strip(row.strip, say("Life of %s", row.name)));

const counted = (pods) => {
  const good = pods.filter((pod) => pod.tone === "good" || pod.tone === "done").length;
  if (pods.length === 0) {
    return say("No pod runs.");
  }
  const all = pods.length === 1 ? say("%d pod", 1) : say("%d pods", pods.length);
  return good === pods.length ? say("%s, all as they should be", all) : say("%s, %d to look at", all, pods.length - good);
};

const search = (route, what) => h("label", { class: "search" }, h("span", { class: "unseen" }, say("Search")),
  h("input", { id: "search", type: "search", value: route.q, placeholder: say("Search %s", what) + "  /", "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false", "data-own": true, "data-key": "search " + what }));

const filters = (route, pods, gone) => h("div", { class: "filters", "data-key": "filters" },
  h("nav", { class: "chips", "aria-label": say("States") }, h("ul", {}, [["", say("All")], ...Object.entries(tones)].map(([is, text]) => {
    const count = is === "gone" ? gone.length : pods.filter((pod) => !is || pod.tone === is).length;
    return (count > 0 || is === (route.is ?? "")) && h("li", { class: is, "data-key": is }, h("a", { href: linkTo(route, { is }), "aria-current": is === (route.is ?? "") ? "true" : null }, is && sign(), text + " " + count));
  }))), search(route, say("name, state, label")));

const troubleItem = ({ pods = [], of, text, tone }) => h("li", { class: tone },
  h("p", { class: "who" }, sign(), pods.length === 0 ? h("a", { href: linkTo({}, { of }) }, of) : pods.slice(0, mostNames).map((pod, i) => [i > 0 && say(", "), h("a", { href: podLink(pod.uid) }, pod.name)]),
    pods.length > mostNames && [say(" and "), h(of ? "a" : "span", { href: of && linkTo({}, { of }) }, say("%d more", pods.length - mostNames))]),
  h("p", { class: "what" }, text));

const troublesCard = (all) => all.length > 0 && h("section", { class: "card why", "data-key": "troubles", "aria-labelledby": "why-title" },
  h("h2", { id: "why-title" }, say("What is not as it should be"), ["bad", "wait"].map((tone) => [tone, all.filter((trouble) => trouble.tone === tone).length]).filter(([, n]) => n > 0).map(([tone, n]) =>
    h("span", { class: "count " + tone }, n + " " + tones[tone]))),
  h("ul", {}, all.slice(0, mostTroubles).map(troubleItem)),
  all.length > mostTroubles && h("details", { "data-key": "more" }, h("summary", {}, say("%d more", all.length - mostTroubles)), h("ul", {}, all.slice(mostTroubles).map(troubleItem))));

// list has the pods of this machine and of a cluster, all or those of an object.
export const list = (overview, route) => {
  const within = (rows = []) => rows.filter((row) => !route.of || (row.of ?? []).includes(route.of) || "Pod " + row.namespace + "/" + row.name === route.of);
  const found = (row, is) => (!route.is || route.is === is) && matches([row.namespace + "/" + row.name, row.status, row.labels, ...(row.of ?? [])].join(" "), route.q);
  const all = within(overview.pods), allGone = within(overview.gone);
  const pods = all.filter((row) => found(row, row.tone)), gone = allGone.filter((row) => found(row, "gone"));
  const uids = new Set([...pods, ...gone].map((row) => row.uid));
  const troubles = (overview.troubles ?? []).filter((one) => (one.pods ? one.pods.some((pod) => uids.has(pod.uid)) : route.of ? one.of === route.of : !route.is && matches(one.of, route.q)));
  return [
    route.of && h("p", { class: "crumbs" }, h("a", { href: "#/" }, say("All pods"))),
    h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, route.of ?? "Pods"), h("p", { class: "sub" }, counted(all))),
    (overview.warnings ?? []).map((text) => h("p", { class: "card warning" }, text)),
    (all.length + allGone.length > 1 || route.is || route.q) && filters(route, all, allGone),
    troublesCard(troubles),
    overview.pods.length === 0 && h("div", { class: "card empty" },
      h("p", {}, say("Start one, and it appears here:")), h("pre", { tabindex: "0" }, "lifepod run examples/hello.yaml")),
    all.length > 0 && pods.length + gone.length === 0 && h("p", { class: "card empty" }, say("No pod is like that.")),
    h("ul", { class: "pods", "aria-label": "Pods" }, pods.slice(0, mostCards).map((row) => card(row, [say("Ready"), row.ready], [say("Restarts"), restarts(row, row.restarts)], [say("Age"), row.age], ["IP", row.ip]))),
    pods.length > mostCards && h("p", { class: "sub" }, say("%d more: search for them.", pods.length - mostCards)),
    gone.length > 0 && h("section", { "data-key": "gone", "aria-labelledby": "gone-title" }, h("h2", { id: "gone-title" }, say("Gone")),
      h("p", { class: "sub" }, say("What the journal has of them stays for some days.")),
      h("ul", { class: "pods gone", "aria-label": say("Pods that are gone") }, gone.map((row) => card(row, [say("Gone for"), row.age]))))];
};

// grid is a table; hrefs are where the cells lead that name what a row is about.
const grid = (label, columns, rows, hrefs = []) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": say("%s, table", label) },
  h("table", {}, h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column)))),
    h("tbody", {}, rows.map((row, r) => h("tr", {}, row.map((cell, i) => h(i === 0 && cell ? "th" : "td", { scope: i === 0 && cell ? "row" : null, "data-label": columns[i] },
      hrefs[r] && (columns[i] === "Name" || columns[i] === "Object") ? h("a", { href: hrefs[r] }, cell) : cell)))))));

const whyCard = (pod) => pod.standing && h("section", { class: "card why", "aria-labelledby": "why-title" },
  h("h2", { id: "why-title" }, say("Why")),
  h("p", { class: "standing" }, pod.standing),
  pod.why ? h("ul", {}, pod.why.map((one) => h("li", { class: one.kind }, one.text,
    (one.rules ?? []).map((number) => [" ", h("button", { type: "button", class: "rule", "data-do": "rule", "data-rule": number, "aria-label": say("Rule %s", number) }, number)]))))
    : h("p", {}, say("It is as it should be: it waits for nothing, and nothing of it was restarted.")));

const timelineCard = (drawing) => drawing && h("section", { class: "card", "aria-labelledby": "timeline-title" },
  h("h2", { id: "timeline-title" }, say("Timeline")),
  h("p", { class: "sub" }, drawing.sub),
  chart(drawing.scene), legend(), shares(drawing),
  h("details", {}, h("summary", {}, say("Every step")),
    grid(say("Every step"), [say("Row"), say("Step"), say("Began"), say("Took"), say("Reason and rule")], (drawing.steps ?? []).map((step) => [
      step.row, step.step + (step.failed ? say(", failed") : "") + (step.critical ? say(", critical path") : ""), step.begin, step.took ?? "",
      (step.notes ?? []).map((note) => note.text + (note.rule ? " [" + note.rule + "]" : "")).join("; ")]))));

const button = (text, what, more) => h("button", { type: "button", "data-do": what, ...more }, text);

const actions = (pod) => h("div", { class: "buttons" },
  (pod.can.restart ?? []).length > 1
    ? h("label", {}, h("span", { class: "unseen" }, say("What to restart")), h("select", { id: "restart", "data-own": true },
      h("option", { value: "" }, say("all containers")), pod.can.restart.map((name) => h("option", { value: name }, name)))) : null,
  pod.can.restart && button(say("Restart …"), "restart", { "data-only": pod.can.restart.length === 1 ? pod.can.restart[0] : null }),
  pod.can.stop && button(say("Stop …"), "stop", { class: "danger" }));

export const podHead = (pod, view) => [
  h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Pods"), " / ", h("a", { href: linkTo({}, { q: pod.namespace + "/" }) }, pod.namespace)),
  h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, pod.name), status(pod), actions(pod)),
  pod.headline && h("p", { class: "sub" }, [pod.headline, say("%s ready", pod.ready), restarts(pod, pod.restarts === 1 ? say("%d\u00a0restart", 1) : say("%d\u00a0restarts", pod.restarts)), say("age %s", pod.age), pod.ip !== "<none>" && pod.ip].filter(Boolean).join(" · ")),
  pod.notice && h("p", { class: "card warning" }, pod.notice),
  h("nav", { class: "tabs", "aria-label": say("Views of %s", pod.name) }, h("ul", {},
    [["", say("Overview")], ["log", say("Log")], ["console", say("Console")]].filter(([name]) => name === "" || (name === "log" ? pod.can.log : pod.can.exec)).map(([name, text]) =>
      h("li", {}, h("a", { href: podLink(pod.uid, name), "aria-current": view === name ? "page" : null }, text)))))];

export const podBody = (pod) => [
  whyCard(pod), timelineCard(pod.timeline),
  pod.containers && h("section", { class: "card", "aria-labelledby": "containers-title" }, h("h2", { id: "containers-title" }, say("Containers")),
    grid(say("Containers"), [say("Name"), say("Kind"), say("Ready"), say("Restarts"), say("State")], pod.containers.map((row) => row.map((cell, i) => (i === 3 ? cell.replace(" ", "\u00a0") : cell))))),
  pod.conditions && h("section", { class: "card", "aria-labelledby": "conditions-title" }, h("h2", { id: "conditions-title" }, say("Conditions")),
    grid(say("Conditions"), [say("Type"), say("Status"), say("Since"), say("Reason")], pod.conditions)),
  pod.events && h("section", { class: "card", "aria-labelledby": "events-title" }, h("h2", { id: "events-title" }, say("Events")),
    grid(say("Events"), [say("Last"), say("Type"), say("Reason"), say("Of"), say("Message")], pod.events.toReversed()))];

// about is where a row of a table leads: to a pod, or to the pods of what it is about; null: it has none.
const about = (of, overview) => {
  const pod = of.startsWith("Pod ") && [...overview?.pods ?? [], ...overview?.gone ?? []].find((row) => "Pod " + row.namespace + "/" + row.name === of);
  return pod ? podLink(pod.uid) : /^(Pod|Deployment|ReplicaSet|StatefulSet|DaemonSet|Job|Service|PersistentVolumeClaim|Node) /.test(of) ? linkTo({}, { of }) : null;
};

export const table = (route, data, overview) => {
  const name = tables[route.table], rows = (data?.rows ?? []).map((row, i) => [row, data.about?.[i] ?? ""]).filter(([row]) => matches(row.join(" "), route.q));
  return [
    h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, name), data?.rows && h("p", { class: "sub" }, data.rows.length + (data.more ? say(", there are more") : "")), (data?.rows?.length > 1 || route.q) && search(route, name)),
    !data && h("p", { class: "sub" }, say("Asking the API server …")),
    data?.error && h("p", { class: "card warning" }, (data.forbidden ? say("You may not see this: ") : "") + data.error),
    data?.rows && (rows.length > 0 ? h("section", { class: "card", "aria-label": name }, grid(name, data.columns, rows.map(([row]) => row), rows.map(([, of]) => about(of, overview))))
      : h("p", { class: "card empty" }, say("There is none.")))];
};
