/** The storyboard that a notebook keeps in columns, as `scene/packing.py` makes them. */

const { assign: merged, fromEntries: paired } = Object;
const EMPTY = { label: "", tone: "", weight: 0, together: null }; // what a row of an arrow leaves out

/**
 * The rows of a table: how many, and the columns by name, each with all its cells or those that there are and which;
 * `filled` tells a cell with its numbers.
 */
function rows([count, columns], filled) {
  const made = Array.from({ length: count }, () => ({}));
  for (const [name, { at, of, by, is }] of Object.entries(columns)) {
    let row = 0;
    (is ?? by.map((each) => of[each])).forEach((cell, i) => {
      row = at ? row + at[i] : i; // where not all rows have one, it says how far it is from the one before
      made[row][name] = filled(cell);
    });
  }
  return made;
}

/** Have rows tell these numbers, of which each was told from the one before. */
function sum(made, ...names) {
  for (const name of names) {
    let total = 0;
    for (const row of made) if (Number.isInteger(row[name])) row[name] = total += row[name];
  }
  return made;
}

/** @returns {Storyboard} */
export function unpacked({ boxes, arrows, steps, moves, details, levels, runs, numbers, ...rest }) {
  const { words: { kinds, states }, ways } = rest;
  const kept = new Map(), named = new Map(); // by the id of a box: the numbers of its details, and itself
  let next = 0; // the first number of a detail that no box had yet
  const [recent, signs] = numbers ?? []; // the numbers: those that were told, the last first, then those to come
  let told = 0, begun = 0; // how many gaps were filled, and with how many numbers for the first time
  /** A text, or several, with its numbers in the gaps. */
  const filled = (cell) => cell?.map?.(filled) ?? cell?.replaceAll?.("\x7f", () => {
    const ago = signs.charCodeAt(told++) - 36;
    recent.unshift(...recent.splice(ago < 0 ? begun++ : ago, 1));
    return recent[0];
  }) ?? cell;
  const sentence = ({ kind, state, note, title, lines, label, source, target }) => {
    const join = (...parts) => parts.filter(Boolean).join("; ");
    const stale = kind === "saved" && state === "error" ? states.stale : states[state];
    if (!source) return join(`${title} (${kinds[kind]})`, note, ...lines, stale);
    const ends = { upper: named.get(source).title, lower: named.get(target).title };
    const way = (ways[kind] ?? ways[state]).replace(/\{(\w+)\}/g, (_, end) => ends[end]);
    const more = join(label.replaceAll("\n", ", "), note);
    return more && !ways[kind] ? `${way}: ${more}` : way;
  };
  /** Have an item change, and the change tell all of it: its words follow from the rest, unless they are told. */
  const change = (item, { note, item: _, ...news }) => {
    if (news.details) {
      const [same, ...others] = news.details, all = (kept.get(item.id) ?? []).slice(0, same);
      for (const each of others) {
        all.push(each + next);
        next = Math.max(next, all.at(-1) + 1);
      }
      kept.set(item.id, (news.details = all));
    }
    item.note = note ?? (news.alt === undefined ? item.note : null);
    merged(item, news);
    const alt = item.note === null ? item.alt : sentence(item);
    if (alt !== item.alt) news.alt = item.alt = alt;
    return news;
  };
  const items = { boxes: sum(rows(boxes, filled), "x", "y"), arrows: sum(rows(arrows, filled), "target") };
  items.boxes.forEach((box, i) => {
    box.holder = box.holder ? items.boxes[i - box.holder].id : null;
    if ("end" in box) box.id = box.holder + box.end;
    named.set(box.id, box);
  });
  for (const arrow of items.arrows) {
    const target = items.boxes[arrow.target], source = items.boxes[arrow.target - arrow.source];
    if ("end" in arrow) arrow.id = target.id + arrow.end;
    if (typeof arrow.d !== "string") {
      let x = source.x + Math.floor(source.w / 2), y = source.y + source.h;
      const points = arrow.d.flatMap((by, i) => (i % 2 ? `${(x += arrow.d[i - 1]) / 10},${(y += by) / 10}` : []));
      arrow.d = `M${points[0]} C${points.slice(1).join(" ")}`;
    }
    arrow.lx = (arrow.lx + source.x) / 10;
    arrow.ly = (arrow.ly + source.y) / 10;
    arrow.lw /= 10;
    arrow.lh /= 10;
    merged(arrow, { ...EMPTY, ...arrow, source: source.id, target: target.id });
  }
  for (const box of items.boxes) for (const side of "xywh") box[side] /= 10;
  const whole = (item) => {
    delete item.end;
    return change(item, { ...item });
  };
  const story = { ...rest, boxes: items.boxes.map(whole), arrows: items.arrows.map(whole) };
  const moved = moves.map((table) => sum(rows(table, filled), "item")), begin = [0, 0];
  story.steps = sum(rows(steps, filled), "focus", "when").map((step) => {
    ["boxes", "arrows"].forEach((part, n) => {
      const here = moved[n].slice(begin[n], (begin[n] += step[part])).map((row) => [items[part][row.item], row]);
      step[part] = paired(here.map(([item, row]) => [item.id, change(item, row)]));
    });
    const at = Number.isInteger(step.focus) ? step.focus : null;
    if ("place" in step) step.place = items.boxes[step.place + at].id;
    if (at !== null) step.focus = items.boxes[at].id;
    return step;
  });
  story.details = rows(details, filled).map(({ name, value, ...detail }) => {
    if (!value) return detail;
    const [shape, dtype, text, norm] = value;
    return { ...detail, body: { name, shape, dtype, text, norm } };
  });
  if (!levels) return story;
  const box = (at) => items.boxes[at - 1]?.id ?? null, arrow = (at) => items.arrows[at - 1]?.id ?? null;
  const spots = (pairs) => paired(pairs.map(([at, x]) => [box(at), x]));
  const level = ([frame, w, h, places, wires, enter, leave]) => [box(frame) ?? "", { w, h, in: spots(enter), out: spots(leave),
    boxes: paired(places.map(([at, ...corner]) => [box(at), corner])),
    wires: wires.map(([start, end, value, ended, count, ...more]) =>
      [box(start), box(end), box(value), arrow(ended), more.slice(0, count), ...more.slice(count)]) }];
  return { ...story, runs: paired(filled(runs)), levels: paired(levels.map(level)) };
}
