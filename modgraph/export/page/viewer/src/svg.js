// Elements, and how wide a text will be. All text is set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const SANS = 'Arial, "Liberation Sans", sans-serif';
const MONO = '"Courier New", "Liberation Mono", monospace';

const FONTS = {
  title: `700 13px ${SANS}`,
  frame: `700 13px ${SANS}`,
  detail: `11px ${SANS}`,
  path: `11px ${MONO}`,
  mark: `700 11px ${SANS}`,
  label: `10.5px ${SANS}`,
  sign: `15px ${SANS}`,
};

const pen = document.createElement("canvas").getContext("2d");
const widths = new Map();

function widthOf(text, font) {
  if (!text) {
    return 0;
  }
  const key = `${font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    pen.font = FONTS[font];
    width = pen.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

function shape(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) {
    if (attributes[key] !== undefined) {
      element.setAttribute(key, attributes[key]);
    }
  }
  if (parent) {
    parent.appendChild(element);
  }
  return element;
}

function letters(text, font, x, y, parent, attributes = {}) {
  const element = shape("text", { x, y, ...attributes, class: `t-${font} ${attributes.class || ""}` }, parent);
  element.textContent = text;
  parent.append(" "); // between words, for those who hear them
  return element;
}

/** An element of HTML: `tag("p", { class: "x" }, "text", child, ...)`. */
function tag(name, attributes, ...content) {
  const element = document.createElement(name);
  for (const key in attributes || {}) {
    if (key.startsWith("on")) {
      element.addEventListener(key.slice(2), attributes[key]);
    } else if (attributes[key] !== undefined && attributes[key] !== false) {
      element.setAttribute(key, attributes[key] === true ? "" : attributes[key]);
    }
  }
  element.append(...content.filter((each) => each !== undefined && each !== null && each !== ""));
  return element;
}

const number = (value) => value.toLocaleString("en-US");
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
