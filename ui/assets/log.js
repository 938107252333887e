// A container's log, as it is written.

import { h, say } from "./dom.js";

const most = 5000; // lines that are kept
const colourNames = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

// coloured makes text nodes and spans of a line with colours (SGR), the only escapes that the server lets
// through.
export const coloured = (line) => {
  const nodes = [];
  let names = [];
  // eslint-disable-next-line no-control-regex
  for (const [i, part] of line.split(/\u001b\[([0-9;:]*)m/).entries()) {
    if (i % 2 === 0) {
      part && nodes.push(names.length > 0 ? h("span", { class: names.join(" ") }, part) : part);
      continue;
    }
    for (const code of (part || "0").split(";").map(Number)) {
      if (code === 0) {
        names = [];
      } else if (code === 1) {
        names = [...names, "bold"];
      } else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
        names = [...names.filter((name) => !name.startsWith("ink-")), "ink-" + colourNames[code % 10]];
      } else if (code === 39) {
        names = names.filter((name) => !name.startsWith("ink-"));
      }
    }
  }
  return nodes;
};

// Screen is a place that lines are added to; it follows their end while that is seen.
export class Screen {
  constructor(label) {
    this.rest = "";
    this.place = h("div", { class: "screen", role: "log", "aria-label": label, "aria-live": "off", tabindex: "0", "data-own": true });
  }
  add(text, name) {
    const place = this.place, follows = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
    const lines = (this.rest + text).split("\n");
    this.partial?.remove();
    this.rest = lines.pop();
    for (const line of lines.slice(-most)) {
      place.append(h("div", { class: name }, ...coloured(line), "\n"));
    }
    this.partial = this.rest ? h("div", { class: name }, ...coloured(this.rest)) : null;
    this.partial && place.append(this.partial);
    while (place.childElementCount > most) {
      place.firstChild.remove();
    }
    if (follows) {
      place.scrollTop = place.scrollHeight;
    }
  }
}

// logView is the log of a pod's containers; close ends it.
export const logView = (uid, containers) => {
  const select = h("select", { id: "log-container" }, containers.map((name) => h("option", { value: name }, name)));
  const previous = h("input", { type: "checkbox", id: "log-previous" });
  const state = h("p", { class: "sub", role: "status" });
  const body = h("div", {});
  let end = null;
  const open = async () => {
    end?.abort();
    const mine = end = new AbortController(), screen = new Screen(say("Log of %s", select.value));
    body.replaceChildren(screen.place);
    state.textContent = "";
    try {
      const query = new URLSearchParams({ container: select.value, previous: previous.checked });
      const answer = await fetch("api/pods/" + encodeURIComponent(uid) + "/log?" + query, { signal: mine.signal });
      if (!answer.ok) {
        throw new Error(await answer.text());
      }
      state.textContent = previous.checked ? say("The instance before the last restart.") : say("Following.");
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        screen.add(part.value);
      }
      state.textContent = say("The log has ended.");
    } catch (error) {
      if (!mine.signal.aborted) {
        state.textContent = error.message;
      }
    }
  };
  select.addEventListener("change", open);
  previous.addEventListener("change", open);
  const element = h("section", { class: "card", "aria-labelledby": "log-title", "data-own": true },
    h("h2", { id: "log-title" }, say("Log")),
    h("div", { class: "buttons" }, h("label", { class: "choice" }, h("span", {}, say("Container")), select), h("label", { class: "choice" }, previous, h("span", {}, say("before the last restart")))),
    state, body);
  open();
  return { element, close: () => end?.abort() };
};
