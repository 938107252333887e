// The page: which view is shown, what the server tells, what the buttons do.

import { h, say, show } from "./dom.js";
import { language } from "./words.js";
import * as views from "./views.js";
import { logView } from "./log.js";
import { consoleView } from "./console.js";

const byID = (id) => document.getElementById(id);
const main = byID("main");
const state = { overview: null, shown: null, route: null, part: null, moved: false, tones: new Map() };

// routeOf reads the address: #/, #/?of=…&is=…&q=… (linkTo), #/deployments?q=…, #/pod/UID, #/pod/UID/log.
const routeOf = () => {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [first = "", uid = "", view = ""] = path.split("/").map(decodeURIComponent), { of, is, q } = Object.fromEntries(new URLSearchParams(search));
  if (first === "pod" && uid) {
    return { view: "pod", uid, part: view, query: "?" + new URLSearchParams({ pod: uid }) };
  }
  return Object.hasOwn(views.tables, first) ? { view: "table", table: first, q, query: "?" + new URLSearchParams({ table: first }) } : { view: "list", of, is, q, query: "" };
};

const titleOf = ({ view, table, of }) => (view === "pod" ? state.shown?.name ?? "Pod" : view === "table" ? views.tables[table] : of ?? "Pods") + " · lifepod";

// part is the log or the console of the pod that is shown, which look after themselves.
const partOf = ({ part, uid }, can) => {
  const key = part + " " + uid;
  if (state.part?.key !== key) {
    state.part?.close();
    state.part = part === "log" && can.log ? { key, ...logView(uid, can.log) } : part === "console" && can.exec ? { key, ...consoleView(uid, can.exec) } : null;
  }
  return state.part?.element;
};

const podContent = (route) => {
  const pod = state.shown;
  if (!pod || pod.error) {
    return [h("h1", { tabindex: "-1" }, "Pod"), h("p", { class: pod ? "card warning" : "sub" }, pod?.error ?? say("Looking …"))];
  }
  return [h("div", { class: "pod-head", "data-key": "head" }, views.podHead(pod, route.part)),
    route.part ? h("div", { class: "pod-part", "data-key": route.part, "data-own": true }) : h("div", { class: "pod-body", "data-key": "body" }, views.podBody(pod))];
};

const render = () => {
  const { route, overview } = state;
  show(byID("nav"), views.nav(route, overview?.cluster));
  const content = route.view === "pod" ? podContent(route) : route.view === "table" ? views.table(route, state.shown, overview)
    : overview ? views.list(overview, route) : [h("h1", { tabindex: "-1" }, "Pods"), h("p", { class: "sub" }, say("Looking …"))];
  show(main, content);
  const place = main.querySelector(".pod-part");
  if (place && state.shown?.can) {
    const part = partOf(route, state.shown.can) ?? h("p", { class: "card empty" }, say("This pod has none now."));
    part.parentElement === place || place.replaceChildren(part);
  }
  document.title = titleOf(route);
  if (state.moved) { // to the heading of the view, also when what it is about has come
    main.querySelector("h1")?.focus();
    state.moved = route.view !== "list" && !state.shown;
  }
};

// announce says what a pod has become, once; sparingly.
const announce = (overview) => {
  const changed = [];
  for (const pod of overview.pods) {
    const before = state.tones.get(pod.uid);
    if (before && before !== pod.tone) {
      changed.push(say("%s is %s", pod.name, pod.status));
    }
    state.tones.set(pod.uid, pod.tone);
  }
  if (changed.length > 0) {
    byID("say").textContent = changed.slice(0, 3).join(", ");
  }
};

const linkIs = (text, good) => {
  const link = byID("link");
  if (link.textContent !== text) {
    link.textContent = text;
  }
  link.classList.toggle("off", !good);
};

let source = null;

// listen asks the server to tell what this view shows; a connection that breaks is made again.
const listen = () => {
  source?.close();
  if (document.hidden) {
    return;
  }
  const mine = source = new EventSource("api/live" + state.route.query);
  source.addEventListener("open", () => linkIs(say("live"), true));
  source.addEventListener("overview", (event) => {
    state.overview = JSON.parse(event.data);
    announce(state.overview);
    render();
  });
  source.addEventListener("shown", (event) => {
    const told = JSON.parse(event.data);
    state.shown = told.row ? { ...told.row, ...told } : told;
    render();
  });
  source.addEventListener("error", () => {
    linkIs(say("no connection"), false);
    if (mine.readyState === EventSource.CLOSED) {
      setTimeout(() => mine === source && listen(), 3000);
    }
  });
};

const go = () => {
  const before = state.route;
  state.route = routeOf();
  if (!state.route.part || state.route.uid !== before?.uid) {
    state.part?.close();
    state.part = null;
  }
  if (before?.query !== state.route.query) {
    state.shown = null;
    listen();
  }
  const place = ({ query, part, of }) => [query, part, of].join(" ");
  state.moved = Boolean(before) && place(before) !== place(state.route);
  render();
  const search = byID("search");
  if (search && search !== document.activeElement) {
    search.value = state.route.q ?? "";
  }
  byID("nav").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  state.moved && scrollTo(0, 0);
};

// ask sends a request that changes a pod; it throws what the server says.
const ask = async (what, body) => {
  const answer = await fetch("api/pods/" + encodeURIComponent(state.route.uid) + "/" + what, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  if (!answer.ok) {
    throw new Error((await answer.text()).trim());
  }
};

const dialog = byID("confirm");
let confirmed = null;

const confirm = (title, text, button, act) => {
  byID("confirm-title").textContent = title;
  byID("confirm-text").textContent = text;
  byID("confirm-error").textContent = "";
  dialog.querySelector("[data-do=confirmed]").textContent = button;
  confirmed = act;
  dialog.showModal();
  dialog.querySelector("[data-do=cancel]").focus();
};

const actions = {
  skip: (event) => { event.preventDefault(); main.focus(); },
  cancel: () => dialog.close(),
  confirmed: async () => {
    try {
      await confirmed();
      dialog.close();
    } catch (error) {
      byID("confirm-error").textContent = error.message;
    }
  },
  restart: (_, { dataset }) => {
    const pod = state.shown, container = dataset.only ?? byID("restart").value;
    const text = container ? say("It is stopped gracefully and started again. The others run on.") : say("Every container is ended at once and started again in order. The pod keeps its address and its volumes.");
    confirm(container ? say("Restart %s of %s?", container, pod.name) : say("Restart all containers of %s?", pod.name), text, say("Restart"), async () => {
      await ask("restart", { container });
      byID("say").textContent = say("Restart of %s asked for", pod.name);
    });
  },
  stop: () => {
    const pod = state.shown;
    confirm(say("Stop %s?", pod.name), say("Its containers get their stop signal and the pod's grace. Nothing starts it again here."), say("Stop"), async () => {
      await ask("stop", { force: false });
      byID("say").textContent = say("Stop of %s asked for", pod.name);
    });
  },
  rule: async (_, { dataset }) => {
    const answer = await fetch("api/rules/" + encodeURIComponent(dataset.rule));
    const rule = answer.ok ? await answer.json() : { number: dataset.rule, text: await answer.text() };
    byID("rule-title").textContent = say("Rule %s", rule.number);
    byID("rule-text").textContent = rule.text;
    byID("rule").showModal();
  },
  "close-rule": () => byID("rule").close(),
};

export const start = () => {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-say]")) {
    element.textContent = say(element.textContent);
  }
  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-do]");
    target && actions[target.dataset.do](event, target);
  });
  document.addEventListener("input", ({ target }) => {
    if (target.id === "search") {
      history.replaceState(null, "", views.linkTo(state.route, { q: target.value }));
      state.route = routeOf();
      render();
    }
  });
  document.addEventListener("keydown", (event) => {
    const search = byID("search");
    if (event.key === "/" && search && !event.target.closest("input, select, dialog")) {
      event.preventDefault();
      search.select();
    }
  });
  document.addEventListener("visibilitychange", listen);
  addEventListener("hashchange", go);
  go();
};
