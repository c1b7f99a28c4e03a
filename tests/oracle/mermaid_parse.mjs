// Reads Mermaid files with the real parser, and says which it refuses.
//
//   npm install --prefix FOLDER mermaid@11 jsdom
//   NODE_FOLDER=FOLDER node tests/oracle/mermaid_parse.mjs FILE.mmd...
//
// The parser needs a document, which jsdom gives it. Limits are those of Mermaid's defaults, which are GitHub's.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.env.NODE_FOLDER ?? ".", "node_modules", "_"));
const { JSDOM } = require("jsdom");
const { window } = new JSDOM("<!doctype html><body></body>");
Object.assign(globalThis, { window, document: window.document, Element: window.Element });

const { default: mermaid } = await import(pathToFileURL(require.resolve("mermaid")));
mermaid.initialize({ startOnLoad: false, maxEdges: 500, maxTextSize: 50000 });

let refused = 0;
for (const file of process.argv.slice(2)) {
  const text = readFileSync(file, "utf8");
  try {
    await mermaid.parse(text);
    const diagram = await mermaid.mermaidAPI.getDiagramFromText(text);
    const data = diagram.db.getData();
    const nodes = data.nodes.filter((node) => !node.isGroup).length;
    const frames = data.nodes.length - nodes;
    console.log(`${file}: ${diagram.type}, ${nodes} nodes, ${frames} frames, ${data.edges.length} edges, ${text.length} characters`);
  } catch (error) {
    refused += 1;
    console.log(`${file}: refused: ${String(error.message ?? error).split("\n").slice(0, 4).join(" | ")}`);
  }
}
process.exit(refused ? 1 : 0);
