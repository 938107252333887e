// Elements and text nodes: no text ever becomes HTML.

import { words } from "./words.js";

// say is a sentence in the page's language, with what stands in its places.
export const say = (english, ...args) => {
  let next = 0;
  return (words[english] ?? english).replace(/%(?:\[(\d)\])?[sd]/g, (_, at) => args[at ? at - 1 : next++]);
};

const svgNames = new Set(["svg", "g", "rect", "line", "circle", "path", "text"]);

// h makes an element. Attributes that are null or false are left out; children are elements or text.
export const h = (name, attributes, ...children) => {
  const element = svgNames.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return element;
};

const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null);

// morph makes an element like another one and keeps what is alike, so that focus, selection and
// scroll positions stay. What is marked data-own looks after itself.
export const morph = (old, next) => {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) {
      old.nodeValue = next.nodeValue;
    }
    return;
  }
  if (old.hasAttribute("data-own")) {
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) {
      old.removeAttribute(name);
    }
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
    }
  }
  let at = old.firstChild;
  for (const child of [...next.childNodes]) {
    let match = at;
    if (keyOf(child) !== null) {
      while (match && !same(match, child)) {
        match = match.nextSibling;
      }
    }
    if (!match || !same(match, child)) {
      old.insertBefore(child, at);
      continue;
    }
    while (at !== match) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
    morph(match, child);
    at = match.nextSibling;
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
};

// show makes a place have these children.
export const show = (place, ...children) => {
  const next = place.cloneNode(false);
  next.append(...children.flat(9).filter(Boolean));
  morph(place, next);
};
