// Parses a flowchart with Mermaid and prints its nodes and edges as JSON. Lies beside node_modules.
import fs from "node:fs";
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<body></body>");
globalThis.window = window;
globalThis.document = window.document;
const mermaid = (await import("mermaid")).default;
const text = fs.readFileSync(process.argv[2], "utf8");
await mermaid.parse(text);
const diagram = await mermaid.mermaidAPI.getDiagramFromText(text);
const decode = (label) =>
  label.replace(/ﬂ°°(\d+)¶ß|#(\d+);/g, (_, a, b) => String.fromCodePoint(Number(a ?? b)));
const nodes = Object.fromEntries([...diagram.db.getVertices()].map(([id, node]) => [id, decode(node.text)]));
const edges = diagram.db.getEdges().map((edge) => [edge.start, edge.end, edge.text]);
process.stdout.write(JSON.stringify({ nodes, edges }));
process.exit(0);
