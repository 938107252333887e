// A console in a container: what is typed goes to a command's standard input, line by line.

import { h, say } from "./dom.js";
import { Screen } from "./log.js";

export const consoleView = (uid, containers) => {
  const select = h("select", { id: "console-container" }, containers.map((name) => h("option", { value: name }, name)));
  const command = h("input", { id: "console-command", value: "sh", spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  const line = h("input", { id: "console-line", class: "line", spellcheck: "false", autocomplete: "off", autocapitalize: "off", disabled: true });
  const start = h("button", { type: "submit" }, say("Open"));
  const end = h("button", { type: "button", disabled: true }, say("End"));
  const state = h("p", { class: "sub", role: "status" }, say("Lines that you send are the command's standard input; it has no terminal."));
  const screen = new Screen(say("Output of the console"));
  let socket = null;
  const past = [];
  let at = 0;
  const opened = (is) => {
    line.disabled = end.disabled = !is;
    start.disabled = is;
  };
  const open = () => {
    const words = command.value.trim().split(/\s+/).filter(Boolean);
    const query = new URLSearchParams([["container", select.value], ...words.map((word) => ["command", word])]);
    const address = new URL("api/pods/" + encodeURIComponent(uid) + "/exec?" + query, location.href);
    address.protocol = "ws:";
    socket = new WebSocket(address);
    state.textContent = say("Opening …");
    let told = false;
    socket.addEventListener("open", () => {
      opened(true);
      state.textContent = say("%s runs in %s.", command.value, select.value);
      line.focus();
    });
    socket.addEventListener("message", (event) => {
      const said = JSON.parse(event.data);
      said.out && screen.add(said.out);
      said.err && screen.add(said.err, "stderr");
      if (said.end) {
        told = true;
        state.textContent = said.end === "ended" ? say("The command ended with exit code %d.", said.code) : said.end;
      }
    });
    socket.addEventListener("close", () => {
      const had = document.activeElement === line;
      opened(false);
      had && start.focus();
      told || (state.textContent = say("The connection was closed."));
    });
  };
  const send = () => {
    if (socket?.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify({ in: line.value + "\n" }));
      screen.add("$ " + line.value + "\n", "typed");
      line.value && past.push(line.value);
      at = past.length;
      line.value = "";
    }
  };
  line.addEventListener("keydown", (event) => {
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      at = Math.max(0, Math.min(past.length, at + (event.key === "ArrowUp" ? -1 : 1)));
      line.value = past[at] ?? "";
      event.preventDefault();
    } else if (event.key === "d" && event.ctrlKey) {
      socket.send(JSON.stringify({ eof: true }));
      event.preventDefault();
    }
  });
  end.addEventListener("click", () => socket?.close());
  const opener = h("form", { class: "buttons" }, h("label", { class: "choice" }, h("span", {}, say("Container")), select),
    h("label", { class: "choice" }, h("span", {}, say("Command")), command), start, end);
  const sender = h("form", { class: "prompt" }, h("label", { for: "console-line" }, say("Line")), line, h("button", { type: "submit" }, say("Send")));
  opener.addEventListener("submit", (event) => { event.preventDefault(); open(); });
  sender.addEventListener("submit", (event) => { event.preventDefault(); send(); });
  const element = h("section", { class: "card", "aria-labelledby": "console-title", "data-own": true }, h("h2", { id: "console-title" }, say("Console")), opener, state, screen.place, sender);
  return { element, close: () => socket?.close() };
};
