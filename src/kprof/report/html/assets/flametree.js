// The trees that the flame graphs are drawn of, from the merged call tree of the capture.
//
// elapsed: callers below, what they call on top; a frame is as wide as its elapsed time.
// net: every function by its net time, its callers on top of it.
// difference: as elapsed or as net; d is the change in the share of the run time.

const pathTree = (prefix) => {
  const fn = C[prefix + "Function"], parent = Int32Array.from(C[prefix + "Parent"], (p) => p - 1);
  return { fn, parent, calls: C[prefix + "Calls"], elapsed: C[prefix + "Elapsed"], net: C[prefix + "Net"], leftOut: C[prefix + "LeftOut"][0] };
};

function elapsedTree(tree) {
  const nodes = Array.from(tree.fn, (fn, i) =>
    ({ fn, value: tree.elapsed[i], own: tree.net[i], calls: tree.calls[i], children: [] }));
  const root = { fn: -1, value: 0, own: 0, calls: 0, children: [] };
  nodes.forEach((node, i) => {
    const up = tree.parent[i];
    (up < 0 ? root : nodes[up]).children.push(node);
    if (up < 0) root.value += node.value;
  });
  return root;
}

function netTree(tree) {
  const root = { fn: -1, value: 0, own: 0, calls: 0, children: [], by: new Map() };
  for (let i = 0; i < tree.fn.length; i++) {
    if (!tree.net[i]) continue;
    root.value += tree.net[i];
    let node = root;
    for (let at = i; at >= 0; at = tree.parent[at]) {
      let next = node.by.get(tree.fn[at]);
      if (!next) {
        next = { fn: tree.fn[at], value: 0, own: 0, calls: 0, children: [], by: new Map() };
        node.by.set(tree.fn[at], next);
        node.children.push(next);
      }
      next.value += tree.net[i];
      next.calls += tree.calls[i];
      node = next;
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
