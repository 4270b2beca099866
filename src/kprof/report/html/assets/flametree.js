// The trees that the flame graphs are drawn of, from the merged call tree of the capture.
//
// elapsed: callers below, what they call on top; a frame is as wide as its elapsed time.
// net: every function by its net time, its callers on top of it.
// difference: as elapsed or as net; d is the change in the share of the run time.

const pathTree = (prefix) => {
  const fn = C[prefix + "Function"], parent = Int32Array.from(C[prefix + "Parent"], (p) => p - 1);
  return { fn, parent, calls: C[prefix + "Calls"], elapsed: C[prefix + "Elapsed"], net: C[prefix + "Net"], leftOut: C[prefix + "LeftOut"][0] };
};

const newNode = (fn) => ({ fn, value: 0, own: 0, calls: 0, children: [], by: new Map() });

function childOf(node, fn) {
  let child = node.by.get(fn);
  if (!child) {
    child = newNode(fn);
    node.by.set(fn, child);
    node.children.push(child);
  }
  return child;
}

// With `apart` an interrupt stands at the bottom, not on what it interrupted.
function elapsedTree(tree, apart) {
  const root = newNode(-1);
  const nodes = new Array(tree.fn.length);
  for (let i = 0; i < tree.fn.length; i++) {
    const fn = tree.fn[i], up = tree.parent[i];
    const below = up < 0 || (apart && D.functions[fn].interrupt) ? root : nodes[up];
    const node = (nodes[i] = childOf(below, fn));
    node.own += tree.net[i];
    node.calls += tree.calls[i];
  }
  const sum = [[root, false]];
  while (sum.length) {
    const [node, done] = sum.pop();
    if (done) node.value = node.children.reduce((total, child) => total + child.value, node.own);
    else sum.push([node, true], ...node.children.map((child) => [child, false]));
  }
  return root;
}

function netTree(tree, apart) {
  const root = newNode(-1);
  for (let i = 0; i < tree.fn.length; i++) {
    if (!tree.net[i]) continue;
    root.value += tree.net[i];
    let node = root;
    for (let at = i; at >= 0; at = tree.parent[at]) {
      node = childOf(node, tree.fn[at]);
      node.value += tree.net[i];
      node.calls += tree.calls[i];
      if (apart && D.functions[tree.fn[at]].interrupt) break;
    }
  }
  return root;
}

// Put into every node of `now` the share that the same path had `before`; paths that are gone
// become nodes of no width, so that they count in their parents' listing only.
function compareTrees(now, before, runNow, runBefore) {
  const gone = [];
  const pairs = [[now, before]];
  while (pairs.length) {
    const [a, b] = pairs.pop();
    a.share = a.value / (runNow || 1);
    a.was = b ? b.value / (runBefore || 1) : 0;
    const old = new Map(b ? b.children.map((child) => [child.fn, child]) : []);
    for (const child of a.children) {
      pairs.push([child, old.get(child.fn)]);
      old.delete(child.fn);
    }
    for (const left of old.values()) gone.push({ path: left, under: a, was: left.value / (runBefore || 1) });
  }
  return gone.sort((x, y) => y.was - x.was);
}
