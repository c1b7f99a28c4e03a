// What is seen, as a file: SVG that carries its own colours and fonts, or PNG made of that. And paths and links to copy.

const PAINTED = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "paint-order", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor",
];
const SHARPNESS = 2; // pixels of a PNG for one of the page
const MOST_PIXELS = 8192; // in one direction, for all browsers

/** The part of the drawing that is on the screen, as a picture that needs no page. */
function seenAsSvg() {
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  const ground = getComputedStyle(document.body).backgroundColor;
  const picture = shape("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` });
  shape("title", {}, picture).textContent = data.name;
  const tips = new Map();
  const defs = shape("defs", {}, picture);
  shape("rect", { width, height, fill: ground }, picture);
  const copied = copyOf(world, stage.getBoundingClientRect(), (colour) => tipOf(colour, tips, defs));
  if (copied) {
    picture.appendChild(copied);
  }
  return picture;
}

/** A copy of what is seen of an element, with its looks in attributes; null where nothing of it is. */
function copyOf(element, seen, tip) {
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  const apart = box.right < seen.left || box.left > seen.right || box.bottom < seen.top || box.top > seen.bottom;
  if (element.localName !== "tspan" && (apart || style.display === "none")) {
    return element.localName === "title" ? element.cloneNode(true) : null;
  }
  const copy = document.createElementNS(SVG, element.localName);
  for (const { name, value } of element.attributes) {
    if (!/^(class|id|role|tabindex|style|marker-end|aria-.*|data-.*)$/.test(name)) {
      copy.setAttribute(name, value);
    }
  }
  if (element.localName === "g") {
    if (style.opacity !== "1") {
      copy.setAttribute("opacity", style.opacity);
    }
  } else if (element.localName !== "title") {
    paint(copy, style, element.getAttribute("marker-end") ? tip : null);
  }
  for (const child of element.childNodes) {
    const own = child.nodeType === Node.ELEMENT_NODE ? copyOf(child, seen, tip) : child.cloneNode();
    if (own) {
      copy.appendChild(own);
    }
  }
  return copy;
}

function paint(copy, style, tip) {
  const isText = copy.localName === "text" || copy.localName === "tspan";
  for (const name of PAINTED) {
    const value = style.getPropertyValue(name);
    const usual = { opacity: "1", "stroke-dasharray": "none", "stroke-linecap": "butt", "stroke-linejoin": "miter", "paint-order": "normal" };
    const needless = value === usual[name] || ((name.startsWith("font") || name === "text-anchor") && !isText) ||
      (name.startsWith("stroke") && name !== "stroke" && style.stroke === "none");
    if (!needless) {
      copy.setAttribute(name, value);
    }
  }
  if (tip) {
    copy.setAttribute("marker-end", tip(style.stroke));
  }
}

/** The point of an arrow in the colour of its line: few programs beside browsers know one that takes it from there. */
function tipOf(colour, tips, defs) {
  let id = tips.get(colour);
  if (!id) {
    id = `tip-${tips.size}`;
    tips.set(colour, id);
    const marker = document.getElementById("tip").cloneNode(true);
    marker.id = id;
    marker.firstChild.setAttribute("fill", colour);
    defs.appendChild(marker);
  }
  return `url(#${id})`;
}

const svgText = () => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(seenAsSvg())}\n`;

/** The name of a file: of the model, and of what is selected in it. */
function fileName(ending) {
  const words = [data.name, selected.path].filter(Boolean).join("-");
  return `${words.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+/, "").slice(0, 80) || "model"}.${ending}`;
}

function offer(content, name) {
  const address = URL.createObjectURL(content);
  const anchor = tag("a", { href: address, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  say(`Saved as ${name}`);
}

function saveSvg() {
  closeMenu();
  offer(new Blob([svgText()], { type: "image/svg+xml" }), fileName("svg"));
}

function savePng() {
  closeMenu();
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  const sharpness = Math.min(SHARPNESS, MOST_PIXELS / Math.max(width, height));
  const picture = new Image();
  picture.onload = () => {
    const sheet = tag("canvas", { width: Math.round(width * sharpness), height: Math.round(height * sharpness) });
    sheet.getContext("2d").drawImage(picture, 0, 0, sheet.width, sheet.height);
    sheet.toBlob((content) => (content ? offer(content, fileName("png")) : say("This browser could not make a PNG")), "image/png");
  };
  picture.onerror = () => say("This browser could not make a PNG");
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText().replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd"))}`;
}

// --- the menu ------------------------------------------------------------------------------------------------------

const saveMenu = () => document.getElementById("save-menu");
const saveButton = () => document.getElementById("save");

function openMenu() {
  saveMenu().hidden = false;
  saveButton().setAttribute("aria-expanded", "true");
  saveMenu().querySelector("button").focus();
}

/** Closes the menu; the focus goes back to its button if it was inside. */
function closeMenu() {
  if (saveMenu().hidden) {
    return;
  }
  const inside = saveMenu().contains(document.activeElement);
  saveMenu().hidden = true;
  saveButton().setAttribute("aria-expanded", "false");
  if (inside) {
    saveButton().focus();
  }
}

function listenToSaving() {
  saveButton().addEventListener("click", () => (saveMenu().hidden ? openMenu() : closeMenu()));
  document.getElementById("save-svg").addEventListener("click", saveSvg);
  document.getElementById("save-png").addEventListener("click", savePng);
  document.getElementById("saving").addEventListener("focusout", (event) => {
    if (!document.getElementById("saving").contains(event.relatedTarget)) {
      closeMenu();
    }
  });
  document.getElementById("saving").addEventListener("keydown", (event) => {
    const entries = [...saveMenu().querySelectorAll("button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && !saveMenu().hidden) {
      closeMenu();
      event.stopPropagation();
    } else if (step) {
      event.preventDefault();
      event.stopPropagation();
      if (saveMenu().hidden) {
        openMenu();
      } else {
        entries[(entries.indexOf(document.activeElement) + step + entries.length) % entries.length].focus();
      }
    }
  });
}

// --- copies --------------------------------------------------------------------------------------------------------

/** Puts a text where it can be pasted from; a page that may not ask for that does it the old way. */
async function copyText(text, words) {
  let copied = false;
  try {
    await navigator.clipboard.writeText(text);
    copied = true;
  } catch {
    const field = tag("textarea", { "aria-hidden": "true", class: "aside" });
    const focused = document.activeElement;
    field.value = text;
    document.body.append(field);
    field.select();
    copied = document.execCommand("copy");
    field.remove();
    focused.focus({ preventScroll: true });
  }
  say(copied ? `${words} copied` : `${words} could not be copied`);
}

/** The address of this page, opened at a module. */
const linkTo = (path) => location.href.split("#")[0] + (path ? addressOf(path) : "");

function copyButtons(path) {
  const button = (name, words, text) => tag("button", { type: "button", class: name, onclick: () => copyText(text, words) }, `Copy ${words.toLowerCase()}`);
  return tag("p", { class: "copies" }, path ? button("copy-path", "Path", path) : null, button("copy-link", "Link", linkTo(path)));
}
