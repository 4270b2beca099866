// Imports a file with speedscope's own importer and prints what it found as JSON.
//   node speedscope_import.mjs FOLDER_OF_THE_NPM_PACKAGE FILE
// The package has the importer only inside its page's script: that runs here on stand-ins for the
// browser, and hands out its importing function.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [folder, file] = process.argv.slice(2);
const release = path.join(folder, "dist", "release");
const script = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
const text = fs.readFileSync(path.join(release, script), "utf8");
const found = /async function (\w+)\(\w+,\w+\)\{return\(await \w+\)\.importProfileGroupFromText\(\w+,\w+\)\}/.exec(text);
if (!found) throw new Error("the importer is not where it was in " + script);
const after = found.index + found[0].length;
const opened = text.slice(0, after) + `;globalThis.importText=${found[1]};` + text.slice(after);

const nothing = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => "" : key === "length" ? 0 : nothing),
  apply: () => nothing,
  construct: () => nothing,
  set: () => true,
});
const said = [], warned = [];
const scope = {
  document: nothing, navigator: { userAgent: "", platform: "" }, location: { hash: "", href: "" },
  localStorage: nothing, addEventListener: () => {}, requestAnimationFrame: () => 0, matchMedia: () => nothing,
  console: { log: (...words) => said.push(words.join(" ")), warn: (...words) => warned.push(words.join(" ")), error() {}, time() {}, timeEnd() {} },
  setTimeout, clearTimeout, TextDecoder, TextEncoder, URL, Blob, atob, btoa, Uint8Array, ArrayBuffer, alert() {},
};
scope.window = scope.self = scope.globalThis = scope;
vm.createContext(scope);
try {
  vm.runInContext(opened, scope);
} catch (error) {
  if (!scope.importText) throw error; // drawing the page may fail
}
const group = await scope.importText(path.basename(file), fs.readFileSync(file, "latin1"));
const profiles = group.profiles.map((profile) => {
  const frames = [];
  profile.forEachFrame((frame) => frames.push([frame.name, frame.getSelfWeight(), frame.getTotalWeight()]));
  const calls = {};
  profile.forEachCall((node) => (calls[node.frame.name] = (calls[node.frame.name] ?? 0) + 1), () => {});
  return { name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalWeight(), frames, calls };
});
process.stdout.write(JSON.stringify({ profiles, said, warned }));
process.exit(0);
