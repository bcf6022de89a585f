// Where operations of a name are on the timeline.

// Segments whose operation has the words in its name, row by row, each once.
export function* occurrences(rows, words) {
  const needle = words.trim().toLowerCase();
  for (const r of needle ? rows : []) {
    const wanted = new Set();
    r.t.what.forEach(([name], i) => { if (name.toLowerCase().includes(needle)) wanted.add(i); });
    yield* inRow(r, wanted);
  }
}

function* inRow(r, wanted) {
  const { blocks, timeline: { insides } } = r.row, places = new Map();
  const placesIn = (inside) => {
    const list = [];
    for (let k = insides.first[inside], at = 0; k < insides.first[inside + 1]; at += insides.length[k], k++)
      if (wanted.has(insides.what[k])) list.push([at, insides.length[k]]);
    return list;
  };
  for (let b = 0; b < blocks.n; b++) {
    const inside = blocks.inside[b];
    if (!places.has(inside)) places.set(inside, placesIn(inside));
    for (const [at, length] of places.get(inside)) yield { r, start: blocks.start[b] + at, end: blocks.start[b] + at + length };
  }
}
